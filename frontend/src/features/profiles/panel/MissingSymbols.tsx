import { Button } from "@mantine/core";
import { useState } from "react";
import type { Profile } from "../../../client/models";
import { moduleName } from "../../../core/profiles/colors";
import { formatPercent } from "../../../core/text/format";
import { useMessage } from "../../../lib/text/i18n";
import { useTranslation } from "../../../lib/text/useTranslation";
import { useUrlState } from "../../../lib/urlState";
import { type UnnamedModules, useUnnamedModules } from "../api";
import type { Selection } from "../filter";
import { PROFILE_FIELDS } from "../filter";
import classes from "./Panel.module.css";

/** Smallest share of unnamed frames or truncated stacks that is reported. */
const MIN_REPORTED_SHARE = 0.02;
const MODULES_PER_REASON = 4;

/** Reasons for unnamed frames and truncated stacks, and how to avoid them in the next capture. */
export function MissingSymbols({ profile, selection }: { profile: Profile; selection: Selection }) {
  const { t } = useTranslation();
  const formatMessage = useMessage();
  const [state, set] = useUrlState(PROFILE_FIELDS);
  const hasUnknown = (profile.unknown_share ?? 0) >= MIN_REPORTED_SHARE;
  const isCut = (profile.truncated_share ?? 0) >= MIN_REPORTED_SHARE;
  const [isOpen, setOpen] = useState(false);
  const query = useUnnamedModules(profile.id, selection, hasUnknown && isOpen);
  if (!hasUnknown && !isCut) return null;
  const reasons = query.data ? groupByReason(query.data) : [];
  const title = [
    hasUnknown && t("profile.missing.unnamed", { share: formatPercent(profile.unknown_share) }),
    isCut && t("profile.missing.cut", { share: formatPercent(profile.truncated_share) }),
  ]
    .filter(Boolean)
    .join(" · ");
  return (
    <details
      className={classes.missing}
      data-testid="missing-symbols"
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary>{title}</summary>
      <ul>
        {reasons.map(({ reason, explanation, weight, modules }) => (
          <li key={explanation?.key ?? reason}>
            <strong className="num">
              {formatPercent(query.data && query.data.total > 0 ? weight / query.data.total : 0)}
            </strong>{" "}
            {explanation ? formatMessage(explanation) : t(`profile.missing.why.${reason}`)}{" "}
            {modules.some(Boolean) && (
              <span className="mono dim">
                {modules.slice(0, MODULES_PER_REASON).map(moduleName).join(", ")}
                {modules.length > MODULES_PER_REASON && " …"}
              </span>
            )}
            {!explanation && (
              <>
                <br />
                {t(`profile.missing.remedy.${reason}`)}
              </>
            )}
          </li>
        ))}
        {isCut && (
          <li>
            <strong className="num">{formatPercent(profile.truncated_share)}</strong>{" "}
            {t("profile.missing.why.cut")}
            <br />
            {t("profile.missing.remedy.cut")}
          </li>
        )}
      </ul>
      {hasUnknown && !state.group && (
        <Button size="xs" variant="default" onClick={() => set({ group: true, at: [] })}>
          {t("profile.missing.group")}
        </Button>
      )}
    </details>
  );
}

type Module = UnnamedModules["modules"][number];
type Group = Pick<Module, "reason" | "explanation" | "weight"> & { modules: string[] };

/** Group modules by explanation of the symbol fetch, else by the reason inferred from the path; heaviest first. */
function groupByReason({ modules }: UnnamedModules): Group[] {
  const groups = new Map<string, Group>();
  for (const { reason, explanation, weight, module } of modules) {
    const key = explanation?.key ?? reason;
    const known = groups.get(key) ?? { reason, explanation, weight: 0, modules: [] };
    known.weight += weight;
    known.modules.push(module);
    groups.set(key, known);
  }
  return [...groups.values()].sort((x, y) => y.weight - x.weight);
}
