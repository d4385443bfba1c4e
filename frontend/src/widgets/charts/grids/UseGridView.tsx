import { useId, useState } from "react";
import { useTranslation } from "react-i18next";
import type { UseCell, UseGridBody, UseRow, UseState } from "../../client/hostVisuals";
import { Grid } from "../../components/Grid";
import { Link } from "../../components/Link";
import { Mark, type Tone } from "../../components/Mark";
import { type Look, Verdict } from "../../components/Verdict";
import { NO_VALUE, quantity } from "../../core/format";
import { usePick, useSentence } from "../../lib/i18n";
import { useNames } from "../../lib/useNames";
import { Gauge } from "../findings/Gauge";
import classes from "./UseGrid.module.css";
import { Value } from "./Value";

const LETTERS = ["utilisation", "saturation", "errors"] as const;
const TONES: Partial<Record<UseState, Tone>> = { critical: "bad", warn: "warn", info: "off", quiet: "ok" };
const LOOKS: Partial<Record<UseState, Look>> = { inconclusive: "inconclusive", unknown: "absent" };
const SIGNS: Record<string, string> = { ">=": "≥", "<=": "≤", "!=": "≠", "==": "=" };

/** One cell for each resource and letter; the chosen one tells its finding below, in a place that does not move. */
export function UseGridView({ body, label }: { body: UseGridBody; label: string }) {
  const { t } = useTranslation();
  const pick = usePick();
  const detail = useId();
  const [chosen, setChosen] = useState(() => worst(body));
  const row = body.rows.find((one) => one.id === chosen.row);
  const cell = row?.cells.find((one) => one.letter === chosen.letter);
  return (
    <div className={classes.all}>
      <table className={classes.grid} aria-label={label}>
        <thead>
          <tr>
            <td />
            {LETTERS.map((letter) => (
              <th key={letter} scope="col">
                {t(`visuals.use.${letter}`)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {body.rows.map((each) => (
            <tr key={each.id}>
              <th scope="row">{pick(each.label)}</th>
              {each.cells.map((one) => (
                <td key={one.letter} className={classes.cell}>
                  <Cell
                    cell={one}
                    name={`${pick(each.label)}, ${t(`visuals.use.${one.letter}`)}`}
                    open={each.id === chosen.row && one.letter === chosen.letter}
                    controls={detail}
                    onOpen={() => setChosen({ row: each.id, letter: one.letter })}
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
  const said = t(`visuals.use.state.${cell.state}`);
  const shown = cell.figure ? quantity(cell.figure.value, cell.figure.unit) : NO_VALUE;
  return (
    <button
      type="button"
      className={classes.button}
      data-state={cell.state}
      aria-pressed={open}
      aria-controls={controls}
      aria-label={
        cell.state === "unknown" ? `${name}: ${said}` : `${name}: ${said}, ${shown} ${names.rule(cell.rule)}`
      }
      onClick={onOpen}
    >
      <Sign state={cell.state} />
      <span className={classes.number}>{cell.state === "unknown" ? said : shown}</span>{" "}
      {cell.state !== "unknown" && <span className={classes.rule}>{names.rule(cell.rule)}</span>}
    </button>
  );
}

function Sign({ state }: { state: UseState }) {
  const tone = TONES[state];
  return tone ? <Mark tone={tone} /> : <Verdict look={LOOKS[state] ?? "context"} />;
}

/** The finding of a cell: what was measured, against what, where that was read, and how many rules were asked. */
function Detail({ row, cell }: { row: UseRow; cell: UseCell }) {
  const { t } = useTranslation();
  const pick = usePick();
  const names = useNames();
  const sentence = useSentence();
  const { figure, op, threshold } = cell;
  const title = cell.rule ? names.rule(cell.rule) : t("visuals.use.noRule");
  const about = names.subject(Object.fromEntries(cell.subject));
  return (
    <>
      <p className={classes.heading}>
        <strong>{pick(row.label)}</strong>
        <span>{t(`visuals.use.${cell.letter}`)}</span>
        <span className={classes.state} data-state={cell.state}>
          <Sign state={cell.state} /> {t(`visuals.use.state.${cell.state}`)}
        </span>
      </p>
      <p className={classes.line}>
        {cell.rule ? (
          <Link to="/rules" search={{ rule: cell.rule } as never}>
            {title}
          </Link>
        ) : (
          title
        )}
        {about.map((one) => (
          <span key={one} className="mono dim">
            {one}
          </span>
        ))}
        {figure && (
          <span className={classes.value}>
            <Value figure={figure} label={title} />
          </span>
        )}
        {figure && threshold !== null && op && (
          <>
            <span className={classes.gauge}>
              <Gauge
                quiet={cell.state === "quiet"}
                figure={{
                  rule: cell.rule,
                  measure: "",
                  value: figure.value,
                  unit: figure.unit,
                  op,
                  threshold,
                  baseline: null,
                  n: 0,
                  subject: {},
                  called: "",
                  places: [],
                }}
              />
            </span>
            <span className="num dim" title={t("findings.threshold")}>
              {SIGNS[op] ?? op} {quantity(threshold, figure.unit)}
            </span>
          </>
        )}
      </p>
      {cell.reason && <p className={classes.reason}>{sentence(names.reason(cell.reason))}</p>}
      {cell.asked > 0 && (
        <p className={classes.count}>
          {t("visuals.use.counts", { fired: cell.fired, said: cell.said, asked: cell.asked })}
        </p>
      )}
    </>
  );
}

const GRAVITY: readonly UseState[] = ["critical", "warn", "info", "inconclusive", "quiet", "unknown"];

/** Where to look first: the gravest cell; of equal ones the first. */
function worst(body: UseGridBody): { row: string; letter: UseCell["letter"] } {
  let found = {
    row: body.rows[0]?.id ?? "",
    letter: "utilisation" as UseCell["letter"],
    rank: GRAVITY.length,
  };
  for (const row of body.rows)
    for (const cell of row.cells) {
      const rank = GRAVITY.indexOf(cell.state);
      if (rank < found.rank) found = { row: row.id, letter: cell.letter, rank };
    }
  return found;
}

/** The same cells as rows. */
export function UseGridTable({ body, label }: { body: UseGridBody; label: string }) {
  const { t } = useTranslation();
  const pick = usePick();
  const names = useNames();
  const sentence = useSentence();
  return (
    <Grid label={label} stack maxHeight={460}>
      <thead>
        <tr>
          <th>{t("visuals.use.resource")}</th>
          <th>{t("visuals.use.letter")}</th>
          <th>{t("visuals.use.verdict")}</th>
          <th>{t("visuals.use.finding")}</th>
          <th className="right">{t("visuals.value")}</th>
          <th className="right">{t("findings.threshold")}</th>
        </tr>
      </thead>
      <tbody>
        {body.rows.flatMap((row) =>
          row.cells.map((cell) => (
            <tr key={`${row.id} ${cell.letter}`}>
              <td>{pick(row.label)}</td>
              <td>{t(`visuals.use.${cell.letter}`)}</td>
              <td>{t(`visuals.use.state.${cell.state}`)}</td>
              <td>
                {cell.rule ? names.rule(cell.rule) : NO_VALUE}
                {cell.reason && <span className="dim"> {sentence(names.reason(cell.reason))}</span>}
              </td>
              <td className="right num">
                <Value figure={cell.figure} label={names.rule(cell.rule)} />
              </td>
              <td className="right num">
                {cell.threshold === null
                  ? NO_VALUE
                  : `${SIGNS[cell.op ?? ""] ?? cell.op} ${quantity(cell.threshold, cell.figure?.unit ?? "")}`}
              </td>
            </tr>
          )),
        )}
      </tbody>
    </Grid>
  );
}
