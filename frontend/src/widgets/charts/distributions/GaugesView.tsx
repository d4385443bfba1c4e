import { DataTable } from "../../../components/tables/DataTable";
import { measureTextWidth, shortenText } from "../../../core/charts/chartScale";
import { formatQuantity } from "../../../core/text/format";
import { useLocalized } from "../../../lib/text/i18n";
import { useTranslation } from "../../../lib/text/useTranslation";
import type { GaugesBody } from "../api";
import { ChartSvg } from "../ChartSvg";
import { ChartMark, ChartValue } from "../ChartValue";
import classes from "../charts.module.css";
import { useWidth } from "../useWidth";

const ROW = 26;
const BAR = 12;
/** Width in px of a text such as "✕ 1,708 / 28,232". */
const NUMBERS = 140;
/** Width in px of a letter of the monospace font at 11 px. */
const LETTER = 6.7;
const SIGN = { good: "", warn: "▲", bad: "✕", none: "" } as const;

type Row = GaugesBody["rows"][number];

/** Render values as bars relative to their capacity, in the order of `body.rows`. A tick marks the minimum. */
export function GaugesView({ body, label }: { body: GaugesBody; label: string }) {
  const { ref, width } = useWidth();
  const localize = useLocalized();
  const gutter = Math.min(
    width * 0.4,
    12 + LETTER * Math.max(8, ...body.rows.map((row) => measureTextWidth(localize(row.label)))),
  );
  const room = Math.max(60, width - gutter - NUMBERS);
  return (
    <div ref={ref} className={classes.drawing}>
      <ChartSvg width={width} height={body.rows.length * ROW + 4} label={label}>
        {body.rows.map((row, i) => (
          <g key={i} transform={`translate(0 ${i * ROW})`}>
            <Bar
              row={row}
              gutter={gutter}
              room={room}
              valueLabel={localize(body.value_label)}
              name={localize(row.label)}
            />
          </g>
        ))}
      </ChartSvg>
    </div>
  );
}

interface BarProps {
  row: Row;
  gutter: number;
  room: number;
  valueLabel: string;
  name: string;
}

function Bar({ row, gutter, room, valueLabel, name }: BarProps) {
  const { value, capacity, low, tone } = row;
  const end = Math.max(capacity?.value ?? 0, value.value, 1);
  const at = (x: number) => (room * Math.max(0, x)) / end;
  const most = Math.floor((gutter - 12) / LETTER);
  return (
    <ChartMark figure={value} label={`${name}, ${valueLabel}:`}>
      <title>{name}</title>
      <rect className={classes.hitArea} width={gutter + room + NUMBERS} height={ROW} />
      <text className={classes.name} x={gutter - 8} y={17} textAnchor="end">
        {shortenText(name, most)}
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
        {formatQuantity(value.value, value.unit)}
        {capacity && ` / ${formatQuantity(capacity.value, capacity.unit)}`}
      </text>
    </ChartMark>
  );
}

/** Render the gauges as a table. */
export function GaugesTable({ body, label }: { body: GaugesBody; label: string }) {
  const { t } = useTranslation();
  const localize = useLocalized();
  const also = body.rows[0]?.also.map(([name]) => localize(name)) ?? [];
  return (
    <DataTable label={label} stack maxHeight={420}>
      <thead>
        <tr>
          <th>{t("visuals.what")}</th>
          <th className="right">{localize(body.value_label)}</th>
          <th className="right">{localize(body.capacity_label)}</th>
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
            <td className="mono">{localize(row.label)}</td>
            <td className="right num">
              <ChartValue figure={row.value} label={localize(row.label)} />
            </td>
            <td className="right num">
              <ChartValue figure={row.capacity} label={localize(row.label)} />
            </td>
            <td className="right num">
              <ChartValue figure={row.low} label={localize(row.label)} />
            </td>
            {row.also.map(([name, figure]) => (
              <td key={localize(name)} className="right num">
                <ChartValue figure={figure} label={localize(name)} />
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </DataTable>
  );
}
