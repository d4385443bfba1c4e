import { Button } from "@mantine/core";
import type { Incident } from "../../../client/models";
import { Collapsible } from "../../../components/Collapsible";
import { ErrorLine } from "../../../components/EmptyState";
import { incidentKeys, useMutes } from "../../../lib/incidents/incidents";
import { remove, useAction } from "../../../lib/queries";
import { useTimeFormat } from "../../../lib/text/useFormat";
import { useTranslation } from "../../../lib/text/useTranslation";
import { FindingRow } from "../../../widgets/findings/FindingRow";
import type { HostAnswer } from "../api";
import classes from "./Evidence.module.css";

/** Muted findings of a host: reason, expiry, and a button to unmute. */
export function MutedFindings({ incident, answer }: { incident: Incident; answer: HostAnswer }) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const mutes = useMutes(answer.host_id, answer.muted.length > 0).data ?? [];
  const unmute = useAction((id: string) => remove(`/mutes/${id}`), [incidentKeys.all]);
  if (answer.muted.length === 0) return null;
  return (
    <Collapsible id="muted" open title={t("incidents.mute.muted")} count={answer.muted.length}>
      {answer.muted.map((finding, i) => {
        const mute = mutes.find((each) => each.rule === finding.rule);
        return (
          <div key={`${finding.rule}${i}`}>
            <FindingRow finding={finding} verdict="context" />
            {mute && (
              <p className={classes.meaning}>
                <span>{t("incidents.mute.why", { name: mute.by?.name ?? "–", reason: mute.reason })}</span>
                <span className="num">
                  {t("incidents.mute.until")} {time.iso(mute.expires_at)}
                </span>
                {incident.permissions.mute && (
                  <Button
                    size="compact-xs"
                    variant="default"
                    loading={unmute.isPending}
                    onClick={() => unmute.mutate(mute.id)}
                  >
                    {t("incidents.mute.undo")}
                  </Button>
                )}
              </p>
            )}
          </div>
        );
      })}
      <ErrorLine error={unmute.error} />
    </Collapsible>
  );
}
