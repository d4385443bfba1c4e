import { useId, useState } from "react";
import { Link } from "../../../components/Link";
import { StatusIcon, type Tone } from "../../../components/StatusIcon";
import { DataTable } from "../../../components/tables/DataTable";
import { VerdictIcon, type VerdictState } from "../../../components/VerdictIcon";
import { formatQuantity, NO_VALUE } from "../../../core/text/format";
import { useLocalized, useMessage } from "../../../lib/text/i18n";
import { useNames } from "../../../lib/text/useNames";
import { useTranslation } from "../../../lib/text/useTranslation";
import { Gauge } from "../../findings/Gauge";
import type { UseCell, UseGridBody, UseRow, UseState } from "../api";
import { ChartValue } from "../ChartValue";
import classes from "./UseGrid.module.css";

const USE_CATEGORIES = ["utilization", "saturation", "errors"] as const;
const TONES: Partial<Record<UseState, Tone>> = {
  critical: "bad",
  warn: "warn",
  info: "off",
  not_matched: "ok",
};
const STATES: Partial<Record<UseState, VerdictState>> = { inconclusive: "inconclusive", unknown: "absent" };
const SIGNS: Record<string, string> = { ">=": "≥", "<=": "≤", "!=": "≠", "==": "=" };

/** Render a cell for each resource and USE category. The finding of the selected cell is below the grid. */
export function UseGridView({ body, label }: { body: UseGridBody; label: string }) {
  const { t } = useTranslation();
  const localize = useLocalized();
  const detail = useId();
  const [chosen, setChosen] = useState(() => findWorstCell(body));
  const row = body.rows.find((useRow) => useRow.id === chosen.row);
  const cell = row?.cells.find((useCell) => useCell.use_category === chosen.use_category);
  return (
    <div className={classes.layout}>
      <table className={classes.grid} aria-label={label}>
        <thead>
          <tr>
            <td />
            {USE_CATEGORIES.map((letter) => (
              <th key={letter} scope="col">
                {t(`visuals.use.${letter}`)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {body.rows.map((each) => (
            <tr key={each.id}>
              <th scope="row">{localize(each.label)}</th>
              {each.cells.map((useCell) => (
                <td key={useCell.use_category} className={classes.cell}>
                  <Cell
                    cell={useCell}
                    name={`${localize(each.label)}, ${t(`visuals.use.${useCell.use_category}`)}`}
                    open={each.id === chosen.row && useCell.use_category === chosen.use_category}
                    controls={detail}
                    onOpen={() => setChosen({ row: each.id, use_category: useCell.use_category })}
                  />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      <div id={detail} className={classes.detail} aria-live="polite">
        {row && cell && <Detail row={row} cell={cell} />}
      </div>
    </div>
  );
}

interface CellProps {
  cell: UseCell;
  name: string;
  open: boolean;
  controls: string;
  onOpen(): void;
}

function Cell({ cell, name, open, controls, onOpen }: CellProps) {
  const { t } = useTranslation();
  const names = useNames();
  const stateText = t(`visuals.use.state.${cell.state}`);
  const text = cell.figure ? formatQuantity(cell.figure.value, cell.figure.unit) : NO_VALUE;
  return (
    <button
      type="button"
      className={classes.button}
      data-state={cell.state}
      aria-pressed={open}
      aria-controls={controls}
      aria-label={
        cell.state === "unknown"
          ? `${name}: ${stateText}`
          : `${name}: ${stateText}, ${text} ${names.rule(cell.rule)}`
      }
      onClick={onOpen}
    >
      <StateSign state={cell.state} />
      <span className={classes.number}>{cell.state === "unknown" ? stateText : text}</span>{" "}
      {cell.state !== "unknown" && <span className={classes.rule}>{names.rule(cell.rule)}</span>}
    </button>
  );
}

function StateSign({ state }: { state: UseState }) {
  const tone = TONES[state];
  return tone ? <StatusIcon tone={tone} /> : <VerdictIcon verdict={STATES[state] ?? "context"} />;
}

/** Render the finding of a cell: value, threshold, source, and the number of evaluated rules. */
function Detail({ row, cell }: { row: UseRow; cell: UseCell }) {
  const { t } = useTranslation();
  const localize = useLocalized();
  const names = useNames();
  const formatMessage = useMessage();
  const { figure, op, threshold } = cell;
  const title = cell.rule ? names.rule(cell.rule) : t("visuals.use.noRule");
  const about = names.subject(Object.fromEntries(cell.subject));
  return (
    <>
      <p className={classes.heading}>
        <strong>{localize(row.label)}</strong>
        <span>{t(`visuals.use.${cell.use_category}`)}</span>
        <span className={classes.state} data-state={cell.state}>
          <StateSign state={cell.state} /> {t(`visuals.use.state.${cell.state}`)}
        </span>
      </p>
      <p className={classes.line}>
        {cell.rule ? (
          <Link to="/rules" search={{ rule: cell.rule }}>
            {title}
          </Link>
        ) : (
          title
        )}
        {about.map((item) => (
          <span key={item} className="mono dim">
            {item}
          </span>
        ))}
        {figure && (
          <span className={classes.value}>
            <ChartValue figure={figure} label={title} />
          </span>
        )}
        {figure && threshold != null && op && (
          <>
            <span className={classes.gauge}>
              <Gauge
                not_matched={cell.state === "not_matched"}
                figure={{
                  rule: cell.rule,
                  measure: "",
                  value: figure.value,
                  unit: figure.unit,
                  op,
                  threshold,
                  baseline: null,
                  sample_count: 0,
                  subject: {},
                  processName: "",
                  places: [],
                }}
              />
            </span>
            <span className="num dim" title={t("findings.threshold")}>
              {SIGNS[op] ?? op} {formatQuantity(threshold, figure.unit)}
            </span>
          </>
        )}
      </p>
      {cell.reason && <p className={classes.reason}>{formatMessage(names.reason(cell.reason))}</p>}
      {cell.total > 0 && (
        <p className={classes.count}>
          {t("visuals.use.counts", { matched: cell.matched, evaluated: cell.evaluated, total: cell.total })}
        </p>
      )}
    </>
  );
}

const WORST_FIRST: readonly UseState[] = [
  "critical",
  "warn",
  "info",
  "inconclusive",
  "not_matched",
  "unknown",
];

/** Return the position of the cell with the worst state; the first of equal cells. */
function findWorstCell(body: UseGridBody): { row: string; use_category: UseCell["use_category"] } {
  let position = {
    row: body.rows[0]?.id ?? "",
    use_category: "utilization" as UseCell["use_category"],
    rank: WORST_FIRST.length,
  };
  for (const row of body.rows)
    for (const cell of row.cells) {
      const rank = WORST_FIRST.indexOf(cell.state);
      if (rank < position.rank) position = { row: row.id, use_category: cell.use_category, rank };
    }
  return position;
}

/** Render the cells as rows of a table. */
export function UseGridTable({ body, label }: { body: UseGridBody; label: string }) {
  const { t } = useTranslation();
  const localize = useLocalized();
  const names = useNames();
  const formatMessage = useMessage();
  return (
    <DataTable label={label} stack maxHeight={460}>
      <thead>
        <tr>
          <th>{t("visuals.use.resource")}</th>
          <th>{t("visuals.use.use_category")}</th>
          <th>{t("visuals.use.verdict")}</th>
          <th>{t("visuals.use.finding")}</th>
          <th className="right">{t("visuals.value")}</th>
          <th className="right">{t("findings.threshold")}</th>
        </tr>
      </thead>
      <tbody>
        {body.rows.flatMap((row) =>
          row.cells.map((cell) => (
            <tr key={`${row.id} ${cell.use_category}`}>
              <td>{localize(row.label)}</td>
              <td>{t(`visuals.use.${cell.use_category}`)}</td>
              <td>{t(`visuals.use.state.${cell.state}`)}</td>
              <td>
                {cell.rule ? names.rule(cell.rule) : NO_VALUE}
                {cell.reason && <span className="dim"> {formatMessage(names.reason(cell.reason))}</span>}
              </td>
              <td className="right num">
                <ChartValue figure={cell.figure} label={names.rule(cell.rule)} />
              </td>
              <td className="right num">
                {cell.threshold === null
                  ? NO_VALUE
                  : `${SIGNS[cell.op ?? ""] ?? cell.op} ${formatQuantity(cell.threshold, cell.figure?.unit ?? "")}`}
              </td>
            </tr>
          )),
        )}
      </tbody>
    </DataTable>
  );
}
