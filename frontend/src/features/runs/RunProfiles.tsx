import { Flame } from "lucide-react";
import type { Run } from "../../client/models";
import { ButtonLink } from "../../components/Link";
import { Panel } from "../../components/Page";
import { RunStateIcon } from "../../components/StatusIcon";
import { formatCount, formatPercent } from "../../core/text/format";
import { useMessage } from "../../lib/text/i18n";
import { useTranslation } from "../../lib/text/useTranslation";
import classes from "./Run.module.css";

/** Links to the flame graphs of the run, the most requested results, with their quality. */
export function RunProfiles({ profiles }: { profiles: Run["profiles"] }) {
  const { t } = useTranslation();
  const formatMessage = useMessage();
  const listed = profiles.filter((p) => p.kind !== "sched");
  if (listed.length === 0) return null;
  return (
    <Panel title={t("nav.profiles")}>
      {listed.map((p) => (
        <div key={p.id} className={classes.profile}>
          <ButtonLink
            to="/profiles/$profileId"
            params={{ profileId: p.id }}
            variant={p.state === "ready" ? "filled" : "default"}
            leftSection={<Flame size={14} />}
          >
            {t("run.flame", {
              kind: t(`profile.kind.${p.kind}` as "profile.kind.on_cpu", { defaultValue: p.kind }),
            })}
          </ButtonLink>
          {p.state === "ready" ? (
            <span className="dim">
              <span className="num">{formatCount(p.samples ?? 0)}</span> {t("profile.samples")} ·{" "}
              <span className="num">{formatCount(p.lost ?? 0)}</span> {t("profile.lost")} ·{" "}
              <span className="num">{formatPercent(p.unknown_share)}</span> {t("profile.unknown")}
            </span>
          ) : (
            <RunStateIcon state={p.state} />
          )}
          {p.failure && <span>{formatMessage(p.failure)}</span>}
        </div>
      ))}
    </Panel>
  );
}
