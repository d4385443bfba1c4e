import { Button } from "@mantine/core";
import { Plus } from "lucide-react";
import { useTranslation } from "react-i18next";
import type { Rule, Sentence } from "../../client/types";
import { Link } from "../../components/Link";
import { TierTag } from "../../components/Mark";
import { Verdict } from "../../components/Verdict";
import { groupedBy } from "../../core/figures";
import { useOpenDialog } from "../../lib/dialogs";
import { useSentence } from "../../lib/i18n";
import { useCollectors, useMay, useRules } from "../../lib/queries";
import { useNames } from "../../lib/useNames";
import classes from "./Findings.module.css";

interface Lacking {
  finding: string;
  reason: Sentence | null;
}

interface Props {
  items: readonly Lacking[];
  /** What was collected already: of several collectors that would do, one that was not tried is offered. */
  tried: readonly string[];
  hostId: string | undefined;
}

/** One collector of each kind that these rules need, the cheapest first. */
function collectorsFor(
  rules: readonly Rule[],
  tried: readonly string[],
  cost: (id: string) => number,
): string[] {
  const out = new Set<string>();
  for (const rule of rules)
    for (const anyOf of rule.collectors) {
      if (anyOf.some((one) => out.has(one))) continue;
      const fresh = anyOf.filter((one) => !tried.includes(one)).sort((x, y) => cost(x) - cost(y));
      if (fresh[0]) out.add(fresh[0]);
    }
  return [...out];
}

/** What nobody can say, by the reason for it, and the one press that would bring it. */
export function Missing({ items, tried, hostId }: Props) {
  const { t } = useTranslation();
  const sentence = useSentence();
  const names = useNames();
  const may = useMay();
  const openDialog = useOpenDialog();
  const rules = useRules().data;
  const collectors = useCollectors().data;
  const info = (id: string) => collectors?.find((one) => one.id === id);
  return groupedBy(items, (one) => sentence(names.reason(one.reason))).map(([reason, lacking]) => {
    const needed = collectorsFor(
      lacking.flatMap((one) => rules?.get(one.finding) ?? []),
      tried,
      (id) => info(id)?.cost.cpu_pct ?? 0,
    ).filter(info);
    return (
      <article key={reason} className={`${classes.finding} ${classes.look_absent}`}>
        <header className={classes.findingHead}>
          <Verdict look="absent" label={t("findings.look.absent")} />
          <span className={classes.absentWhy}>{reason || t("findings.noReason")}</span>
          {hostId && needed.length > 0 && may("capture.light") && (
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
        <p className={classes.silent}>
          <span className="dim">{t("findings.silent")}</span>{" "}
          {lacking.map(({ finding }, i) => (
            <span key={`${finding}${i}`}>
              {i > 0 && " · "}
              <Link to="/rules" search={{ rule: finding } as never} title={finding}>
                {names.rule(finding)}
              </Link>
            </span>
          ))}
        </p>
      </article>
    );
  });
}
