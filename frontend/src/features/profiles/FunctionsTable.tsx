import { useState } from "react";
import type { Profile } from "../../client/models";
import { DataTable } from "../../components/tables/DataTable";
import { cx } from "../../core/cx";
import { type FlameNode, parseSearchPattern } from "../../core/profiles/flame";
import { formatPercent } from "../../core/text/format";
import { useTranslation } from "../../lib/text/useTranslation";
import type { Point } from "../../widgets/flame-graph/drawing";
import type { FunctionRow } from "./api";
import { weightText } from "./FrameDetails";
import classes from "./Profile.module.css";

const MAX_ROWS = 200;

interface Props {
  rows: readonly FunctionRow[];
  total: number;
  unit: Profile["unit"];
  q: string;
  onPick(frame: string): void;
  onMenu?: ((node: FlameNode, at: Point) => void) | undefined;
}

/** Return a predicate for the rows that match the search; a pattern that the browser cannot compile matches all. */
function createRowFilter(q: string): (row: FunctionRow) => boolean {
  const pattern = parseSearchPattern(q);
  if (pattern === undefined) {
    const needle = q.toLowerCase();
    return (row) => row.frame.toLowerCase().includes(needle);
  }
  try {
    const regex = new RegExp(pattern);
    return (row) => regex.test(row.frame);
  } catch {
    return () => true;
  }
}

/** Table of functions by self or total weight; a recursive function counts once per stack. */
export function FunctionsTable({ rows, total, unit, q, onPick, onMenu }: Props) {
  const { t } = useTranslation();
  const [by, setBy] = useState<"self" | "total">("self");
  const matching = rows.filter(createRowFilter(q));
  const visible = [...matching].sort((x, y) => y[by] - x[by]).slice(0, MAX_ROWS);
  const heading = (column: "self" | "total") => (
    <th className="right" aria-sort={by === column ? "descending" : "none"}>
      <button type="button" className={classes.sort} onClick={() => setBy(column)}>
        {t(`profile.${column}`)} {by === column ? "↓" : ""}
      </button>
    </th>
  );
  return (
    <div>
      <DataTable label={t("profile.top")} maxHeight="70vh">
        <thead>
          <tr>
            {heading("self")}
            {heading("total")}
            <th>{t("profile.frame")}</th>
            <th>{t("profile.module")}</th>
          </tr>
        </thead>
        <tbody>
          {visible.map((row) => (
            <tr
              key={`${row.frame}\u0000${row.module}`}
              onContextMenu={(event) => {
                if (!onMenu) return;
                event.preventDefault();
                onMenu(nodeOf(row), { x: event.clientX, y: event.clientY });
              }}
            >
              <td className="right">
                <ShareCells weight={row.self} total={total} unit={unit} />
              </td>
              <td className="right">
                <ShareCells weight={row.total} total={total} unit={unit} />
              </td>
              <td className={classes.cell}>
                <button
                  type="button"
                  className={cx(classes.nameButton, row.kind === "unknown" && classes.unnamed)}
                  onClick={() => onPick(row.frame)}
                >
                  {row.frame}
                </button>
              </td>
              <td className="mono dim" title={row.module}>
                <span className={classes.module}>{row.module.split("/").at(-1)}</span>
              </td>
            </tr>
          ))}
        </tbody>
      </DataTable>
      {matching.length > visible.length && (
        <p className={classes.more}>{t("profile.rest", { visible: visible.length, all: matching.length })}</p>
      )}
    </div>
  );
}

/** Return a node for the frame menu; it is not part of a tree. */
const nodeOf = (row: FunctionRow): FlameNode => ({
  id: `${row.frame}\u0000${row.module}`,
  name: row.frame,
  module: row.module,
  value: row.total,
  self: row.self,
  kind: row.kind as FlameNode["kind"],
});

function ShareCells({ weight, total, unit }: { weight: number; total: number; unit: Profile["unit"] }) {
  const share = total > 0 ? weight / total : 0;
  return (
    <span className={classes.share} title={weightText(weight, unit)}>
      <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden>
        <rect x={100 - share * 100} width={share * 100} height="10" />
      </svg>
      <span className="num">{formatPercent(share)}</span>
    </span>
  );
}
