import { Checkbox } from "@mantine/core";
import { useState } from "react";
import { QueryContent } from "../../../components/EmptyState";
import { Panel } from "../../../components/Page";
import { DataTable } from "../../../components/tables/DataTable";
import { cx } from "../../../core/cx";
import {
  type DiffHead,
  formatSideWeight,
  formatWeight,
  formatWeightChange,
} from "../../../core/profiles/difference";
import { useTranslation } from "../../../lib/text/useTranslation";
import { type FunctionChange, useComparisonFunctions } from "../api";
import classes from "../Profile.module.css";
import type { ComparisonParams } from "./state";

const MAX_ROWS = 100;
type Part = FunctionChange["self"];

const isChanged = (row: FunctionChange): boolean =>
  row.self.verdict === "changed" || row.total.verdict === "changed";

/** Functions, summed over all call paths, that changed by more than chance; a checkbox adds the others. */
export function ChangedFunctions({ id, params }: { id: string; params: ComparisonParams }) {
  const { t } = useTranslation();
  const [all, setAll] = useState(false);
  const query = useComparisonFunctions(id, params);
  const rows = query.data?.rows ?? [];
  const changed = rows.filter(isChanged);
  const visible = (all ? rows : changed).slice(0, MAX_ROWS);
  return (
    <Panel
      title={t("compare.functions")}
      headerExtra={
        <>
          <span className="num">{t("compare.functionsOf", { changed: changed.length })}</span>
          <Checkbox
            size="xs"
            label={t("compare.showAll")}
            checked={all}
            onChange={(event) => setAll(event.currentTarget.checked)}
          />
        </>
      }
      flush
    >
      <QueryContent query={query}>
        {(data) =>
          visible.length === 0 ? (
            <p className={classes.more}>{t("compare.functionsNone")}</p>
          ) : (
            <DataTable label={t("compare.functions")} maxHeight={360}>
              <thead>
                <tr>
                  <th>{t("compare.function")}</th>
                  {(["self", "total"] as const).map((part) => (
                    <SideHeadings key={part} part={t(`compare.${part}`)} />
                  ))}
                </tr>
              </thead>
              <tbody>
                {visible.map((row) => (
                  <tr key={row.frame}>
                    <td className={classes.path}>{row.frame}</td>
                    <SideCells change={row.self} head={data} />
                    <SideCells change={row.total} head={data} />
                  </tr>
                ))}
              </tbody>
            </DataTable>
          )
        }
      </QueryContent>
    </Panel>
  );
}

function SideHeadings({ part }: { part: string }) {
  const { t } = useTranslation();
  return (
    <>
      <th className="right">A {part}</th>
      <th className="right">B {part}</th>
      <th className="right">{t("compare.change")}</th>
      <th className="right">{t("compare.chance")}</th>
    </>
  );
}

/** Cells of both sides, the change and its noise; a change that can be chance is dimmed. */
function SideCells({ change, head }: { change: Part; head: DiffHead }) {
  const { t } = useTranslation();
  const dim = change.verdict === "changed" ? undefined : "dim";
  return (
    <>
      <td className="right num">{formatSideWeight(change.a, "a", head)}</td>
      <td className="right num">{formatSideWeight(change.b, "b", head)}</td>
      <td className={cx("right num", dim)}>{formatWeightChange(change.delta, head)}</td>
      <td className="right num dim">
        {change.noise != null
          ? `±${formatWeight(change.noise, head)}`
          : change.a + change.b > 0
            ? t("compare.few")
            : ""}
      </td>
    </>
  );
}
