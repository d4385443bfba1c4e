import { Flame } from "lucide-react";
import { useTranslation } from "react-i18next";
import type { Profile } from "../../client/types";
import { ButtonLink } from "../../components/Link";
import { StateMark } from "../../components/Mark";
import { Panel } from "../../components/Page";
import { count, percent } from "../../core/format";
import { useSentence } from "../../lib/i18n";
import classes from "./Run.module.css";

/** The run's flame graphs, first because they are what one came for. */
export function Profiles({ profiles }: { profiles: readonly Profile[] }) {
  const { t } = useTranslation();
  const sentence = useSentence();
  const drawn = profiles.filter((p) => p.kind !== "sched");
  if (drawn.length === 0) return null;
  return (
    <Panel title={t("nav.profiles")}>
      {drawn.map((p) => (
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
              <span className="num">{count(p.samples ?? 0)}</span> {t("profile.samples")} ·{" "}
              <span className="num">{count(p.lost ?? 0)}</span> {t("profile.lost")} ·{" "}
              <span className="num">{percent(p.unknown_share)}</span> {t("profile.unknown")}
            </span>
          ) : (
            <StateMark state={p.state} />
          )}
          {p.failure && <span>{sentence(p.failure)}</span>}
        </div>
      ))}
    </Panel>
  );
}
