import type { ReactNode } from "react";
import type { Profile } from "../../client/models";
import { frameLabel, moduleName } from "../../core/profiles/colors";
import type { FlameNode } from "../../core/profiles/flame";
import { formatBytes, formatCount, formatDuration, formatPercent } from "../../core/text/format";
import { useTranslation } from "../../lib/text/useTranslation";
import classes from "./Profile.module.css";

const WEIGHT_TEXT: Record<Profile["unit"], (weight: number) => string> = {
  ns: formatDuration,
  bytes: formatBytes,
  samples: formatCount,
  count: formatCount,
};

export const weightText = (weight: number, unit: Profile["unit"]): string => WEIGHT_TEXT[unit](weight);

/** Return the tooltip of a frame: name, weight and share. */
export const frameTitle = (node: FlameNode, total: number, unit: Profile["unit"]): string =>
  `${frameLabel(node)}\n${weightText(node.value, unit)} · ${formatPercent(total > 0 ? node.value / total : 0)}`;

interface Props {
  node: FlameNode | null;
  total: number;
  unit: Profile["unit"];
  q?: string;
  matches?: { weight: number; share: number } | undefined;
  delta?: string;
  /** Action at the right end, for the zoomed frame. */
  action?: ReactNode;
}

/** Detail line of the frame under the pointer. It is always present, so that the layout does not shift. */
export function FrameDetails({ node, total, unit, q, matches, delta, action }: Props) {
  const { t } = useTranslation();
  const share = (weight: number) => formatPercent(total > 0 ? weight / total : 0);
  return (
    <div className={classes.detail} aria-live="polite" data-testid="detail">
      {node ? (
        <>
          <span className={classes.name} title={node.module}>
            {frameLabel(node)}
          </span>
          <span className={classes.figures}>
            {node.module && <span className="mono dim">{moduleName(node.module)}</span>}
            <span>
              {t("profile.total")} <span className="num">{weightText(node.value, unit)}</span>
              {unit === "samples" && ` ${t("profile.samples")}`}
              {" · "}
              <span className="num">{share(node.value)}</span>
            </span>
            {!node.above && (
              <span>
                {t("profile.self")} <span className="num">{weightText(node.self, unit)}</span>
                {" · "}
                <span className="num">{share(node.self)}</span>
              </span>
            )}
            {delta}
          </span>
        </>
      ) : q && matches ? (
        <span>
          {t("profile.matched", {
            q,
            share: formatPercent(matches.share),
            weight: weightText(matches.weight, unit),
          })}
        </span>
      ) : (
        <span className="dim">{t("profile.hint")}</span>
      )}
      {action && <span className={classes.detailAction}>{action}</span>}
    </div>
  );
}
