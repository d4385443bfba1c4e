import { Button } from "@mantine/core";
import { useTranslation } from "react-i18next";
import type { HostAnswer, Incident } from "../../client/incidents";
import { Fold } from "../../components/Fold";
import { ErrorLine } from "../../components/States";
import { incidentKeys, useMutes } from "../../lib/incidents";
import { remove, useAction } from "../../lib/queries";
import { useTimeFormat } from "../../lib/useFormat";
import { FindingRow } from "../../renderers/findings/FindingRow";
import classes from "./Evidence.module.css";

/** What was found and does not count on this host: why, until when, and the way to let it count again. */
export function Muted({ incident, answer }: { incident: Incident; answer: HostAnswer }) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const mutes = useMutes(answer.host_id, answer.muted.length > 0).data ?? [];
  const unmute = useAction((id: string) => remove(`/mutes/${id}`), [incidentKeys.all]);
  if (answer.muted.length === 0) return null;
  return (
    <Fold id="muted" open title={t("incidents.mute.muted")} count={answer.muted.length}>
      {answer.muted.map((one, i) => {
        const mute = mutes.find((each) => each.rule === one.rule);
        return (
          <div key={`${one.rule}${i}`}>
            <FindingRow finding={one} look="context" />
            {mute && (
              <p className={classes.meaning}>
                <span>{t("incidents.mute.why", { name: mute.by?.name ?? "–", reason: mute.reason })}</span>
                <span className="num">
                  {t("incidents.mute.until")} {time.iso(mute.expires_at)}
                </span>
                {incident.may.mute && (
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
    </Fold>
  );
}
