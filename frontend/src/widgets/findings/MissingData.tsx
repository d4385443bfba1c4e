import { Button } from "@mantine/core";
import { Plus } from "lucide-react";
import type { Rule } from "../../client/models";
import { Link } from "../../components/Link";
import { TierTag } from "../../components/StatusIcon";
import { VerdictIcon } from "../../components/VerdictIcon";
import { groupBy } from "../../core/text/figures";
import type { Message } from "../../core/text/messages";
import { useOpenDialog } from "../../lib/dialogs";
import { useCollectors, usePermission, useRules } from "../../lib/queries";
import { useMessage } from "../../lib/text/i18n";
import { useNames } from "../../lib/text/useNames";
import { useTranslation } from "../../lib/text/useTranslation";
import classes from "./Findings.module.css";

interface MissingItem {
  finding: string;
  reason: Message | null;
}

interface Props {
  items: readonly MissingItem[];
  /** Collectors that ran already. Only other collectors are offered. */
  triedCollectors: readonly string[];
  hostId: string | undefined;
}

/** Return the collectors that `rules` need: of each set of alternatives, the cheapest that was not tried. */
function collectorsFor(
  rules: readonly Rule[],
  tried: readonly string[],
  cost: (id: string) => number,
): string[] {
  const out = new Set<string>();
  for (const rule of rules)
    for (const anyOf of rule.collectors) {
      if (anyOf.some((item) => out.has(item))) continue;
      const fresh = anyOf.filter((item) => !tried.includes(item)).sort((x, y) => cost(x) - cost(y));
      if (fresh[0]) out.add(fresh[0]);
    }
  return [...out];
}

/** Render rules that were not evaluated, grouped by reason, each group with a button that captures the missing data. */
export function MissingData({ items, triedCollectors, hostId }: Props) {
  const { t } = useTranslation();
  const formatMessage = useMessage();
  const names = useNames();
  const can = usePermission();
  const openDialog = useOpenDialog();
  const rules = useRules().data;
  const collectors = useCollectors().data;
  const info = (id: string) => collectors?.find((collector) => collector.id === id);
  return groupBy(items, (missingItem) => formatMessage(names.reason(missingItem.reason))).map(
    ([reason, lacking]) => {
      const needed = collectorsFor(
        lacking.flatMap((missingItem) => rules?.get(missingItem.finding) ?? []),
        triedCollectors,
        (id) => info(id)?.cost.cpu_pct ?? 0,
      ).filter(info);
      return (
        <article key={reason} className={`${classes.finding} ${classes.look_absent}`}>
          <header className={classes.findingHead}>
            <VerdictIcon verdict="absent" label={t("findings.verdict.absent")} />
            <span className={classes.absentWhy}>{reason || t("findings.noReason")}</span>
            {hostId && needed.length > 0 && can("capture.light") && (
              <Button
                size="compact-xs"
                variant="default"
                leftSection={<Plus size={12} />}
                onClick={() => openDialog("capture", [hostId], "", needed)}
                className={classes.collect ?? ""}
              >
                {t("findings.collect", { what: needed.map(names.collector).join(", ") })}
              </Button>
            )}
            {needed.map((id) => {
              const tier = info(id)?.tier;
              return tier && tier !== "light" ? <TierTag key={id} tier={tier} /> : null;
            })}
          </header>
          <p className={classes.ruleIds}>
            <span className="dim">{t("findings.notEvaluated")}</span>{" "}
            {lacking.map(({ finding }, i) => (
              <span key={`${finding}${i}`}>
                {i > 0 && " · "}
                <Link to="/rules" search={{ rule: finding }} title={finding}>
                  {names.rule(finding)}
                </Link>
              </span>
            ))}
          </p>
        </article>
      );
    },
  );
}
