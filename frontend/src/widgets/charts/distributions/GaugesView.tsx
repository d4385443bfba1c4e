import { useTranslation } from "react-i18next";
import type { GaugesBody } from "../../client/visuals";
import { Grid } from "../../components/Grid";
import { quantity } from "../../core/format";
import { shortened, wideLength } from "../../core/picture";
import { usePick } from "../../lib/i18n";
import { Drawing } from "./Drawing";
import { useWidth } from "./useWidth";
import { Mark, Value } from "./Value";
import classes from "./Visuals.module.css";

const ROW = 26;
const BAR = 12;
/** Room for "1,708 / 28,232" and its sign. */
const NUMBERS = 140;
/** Letters of the monospace font are so wide at 11 px. */
const LETTER = 6.7;
const SIGN = { good: "", warn: "▲", bad: "✕", none: "" } as const;

type Row = GaugesBody["rows"][number];

/** Bars that fill up to their capacity, the fullest first; the tick is what a bar never fell below. */
export function GaugesView({ body, label }: { body: GaugesBody; label: string }) {
  const { ref, width } = useWidth();
  const pick = usePick();
  const gutter = Math.min(
    width * 0.4,
    12 + LETTER * Math.max(8, ...body.rows.map((one) => wideLength(pick(one.label)))),
  );
  const room = Math.max(60, width - gutter - NUMBERS);
  return (
    <div ref={ref} className={classes.drawing}>
      <Drawing width={width} height={body.rows.length * ROW + 4} label={label}>
        {body.rows.map((row, i) => (
          <g key={i} transform={`translate(0 ${i * ROW})`}>
            <Bar row={row} gutter={gutter} room={room} says={pick(body.value_says)} name={pick(row.label)} />
          </g>
        ))}
      </Drawing>
    </div>
  );
}

interface BarProps {
  row: Row;
  gutter: number;
  room: number;
  says: string;
  name: string;
}

function Bar({ row, gutter, room, says, name }: BarProps) {
  const { value, capacity, low, tone } = row;
  const end = Math.max(capacity?.value ?? 0, value.value, 1);
  const at = (x: number) => (room * Math.max(0, x)) / end;
  const most = Math.floor((gutter - 12) / LETTER);
  return (
    <Mark figure={value} label={`${name}, ${says}:`}>
      <title>{name}</title>
      <rect className={classes.hit} width={gutter + room + NUMBERS} height={ROW} />
      <text className={classes.name} x={gutter - 8} y={17} textAnchor="end">
        {shortened(name, most)}
      </text>
      {capacity ? (
        <rect
          className={classes.track}
          x={gutter}
          y={7}
          width={Math.max(1, at(capacity.value))}
          height={BAR}
        />
      ) : (
        <rect className={classes.noCapacity} x={gutter} y={7} width={room} height={BAR} />
      )}
      <rect
        className={classes.bar}
        data-tone={tone}
        x={gutter}
        y={7}
        width={Math.max(value.value > 0 ? 2 : 0, at(value.value))}
        height={BAR}
      />
      {low && low.value > 0 && (
        <path className={classes.tick} d={`M${gutter + at(low.value)} 4v${BAR + 6}`} />
      )}
      <text className={classes.number} data-tone={tone} x={gutter + room + 8} y={17}>
        {SIGN[tone] && `${SIGN[tone]} `}
        {quantity(value.value, value.unit)}
        {capacity && ` / ${quantity(capacity.value, capacity.unit)}`}
      </text>
    </Mark>
  );
}

/** The same numbers as a table. */
export function GaugesTable({ body, label }: { body: GaugesBody; label: string }) {
  const { t } = useTranslation();
  const pick = usePick();
  const also = body.rows[0]?.also.map(([name]) => pick(name)) ?? [];
  return (
    <Grid label={label} stack maxHeight={420}>
      <thead>
        <tr>
          <th>{t("visuals.what")}</th>
          <th className="right">{pick(body.value_says)}</th>
          <th className="right">{pick(body.capacity_says)}</th>
          <th className="right">{t("visuals.never")}</th>
          {also.map((name) => (
            <th key={name} className="right">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {body.rows.map((row, i) => (
          <tr key={i}>
            <td className="mono">{pick(row.label)}</td>
            <td className="right num">
              <Value figure={row.value} label={pick(row.label)} />
            </td>
            <td className="right num">
              <Value figure={row.capacity} label={pick(row.label)} />
            </td>
            <td className="right num">
              <Value figure={row.low} label={pick(row.label)} />
            </td>
            {row.also.map(([name, figure]) => (
              <td key={pick(name)} className="right num">
                <Value figure={figure} label={pick(name)} />
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </Grid>
  );
}
