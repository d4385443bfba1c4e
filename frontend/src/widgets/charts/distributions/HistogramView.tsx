import { DataTable } from "../../../components/tables/DataTable";
import { countHeight, logScale } from "../../../core/charts/chartScale";
import { quantity } from "../../../core/text/format";
import { useLocalized } from "../../../lib/text/i18n";
import { useTranslation } from "../../../lib/text/useTranslation";
import type { HistogramBody, VisualFigure } from "../api";
import { ChartSvg } from "../ChartSvg";
import { ChartMark, ChartValue } from "../ChartValue";
import classes from "../charts.module.css";
import { ink, PatternDefs, useInkId } from "../Legend";
import { useWidth } from "../useWidth";

const HEIGHT = 190;
const TOP = 26;
const BOTTOM = 22;
const SIDE = 12;

type Bin = HistogramBody["bins"][number];
type Band = HistogramBody["bands"][number];

/** Render a histogram of durations. Both scales are logarithmic; bands with a meaning are behind the bars. */
export function HistogramView({ body, label }: { body: HistogramBody; label: string }) {
  const { t } = useTranslation();
  const { ref, width } = useWidth();
  const pick = useLocalized();
  const id = useInkId();
  const low = body.bins[0]?.low ?? 1;
  const high = Math.max(body.bins.at(-1)?.high ?? 10, low * 10);
  const scale = logScale(low, high);
  const x = (value: number) => SIDE + (width - 2 * SIDE) * scale.at(value);
  const most = Math.max(1, ...body.bins.map((bin) => bin.count.value));
  const y = (count: number) => HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * countHeight(count, most);
  const bands = body.bands.filter((band) => body.bins.some((bin) => within(bin, band)));
  return (
    <>
      <div ref={ref} className={classes.drawing}>
        <ChartSvg width={width} height={HEIGHT} label={label}>
          <PatternDefs id={id} />
          {bands.map((band) => (
            <rect
              key={band.low}
              className={classes.band}
              data-tone={band.tone}
              x={x(band.low) - 2}
              y={TOP - 14}
              width={Math.max(4, x(band.high) - x(band.low) + 4)}
              height={HEIGHT - TOP - BOTTOM + 14}
            />
          ))}
          <line
            className={classes.axisLine}
            x1={SIDE}
            x2={width - SIDE}
            y1={HEIGHT - BOTTOM}
            y2={HEIGHT - BOTTOM}
          />
          {scale.ticks.map((tick) => (
            <text key={tick} className={classes.axisText} x={x(tick)} y={HEIGHT - 7} textAnchor="middle">
              {quantity(tick, body.unit)}
            </text>
          ))}
          {body.bins.map((bin) => {
            const banded = bands.some((band) => within(bin, band));
            const wide = Math.max(3, x(bin.high) - x(bin.low) - 1);
            return (
              <ChartMark key={bin.low} figure={bin.count} label={edges(bin, body.unit)}>
                <title>{`${edges(bin, body.unit)} ${quantity(bin.count.value, "count")}`}</title>
                <rect
                  className={classes.part}
                  data-tone={banded ? "bad" : "none"}
                  x={x(bin.low)}
                  y={y(bin.count.value)}
                  width={wide}
                  height={HEIGHT - BOTTOM - y(bin.count.value)}
                  fill={banded ? undefined : ink(id, 0)}
                />
                {wide > 22 && (
                  <text
                    className={classes.axisText}
                    x={x(bin.low) + wide / 2}
                    y={y(bin.count.value) - 3}
                    textAnchor="middle"
                  >
                    {quantity(bin.count.value, "count")}
                  </text>
                )}
              </ChartMark>
            );
          })}
          {body.markers.map(([name, figure]) => (
            <line
              key={pick(name)}
              className={classes.marker}
              x1={x(figure.value)}
              x2={x(figure.value)}
              y1={TOP - 10}
              y2={HEIGHT - BOTTOM}
            />
          ))}
        </ChartSvg>
      </div>
      <ul className={classes.legend}>
        {body.markers.map(([name, figure]) => (
          <Entry key={pick(name)} name={pick(name)} figure={figure} />
        ))}
        {bands.map((band) => (
          <Entry key={band.low} name={pick(band.label)} figure={countIn(body.bins, band)} tone={band.tone} />
        ))}
        {body.unbinned.map(([name, figure, tone]) => (
          <Entry key={pick(name)} name={pick(name)} figure={figure} tone={tone} />
        ))}
        <li className="dim">{t("visuals.logCounts")}</li>
      </ul>
    </>
  );
}

function Entry({ name, figure, tone = "none" }: { name: string; figure: VisualFigure; tone?: string }) {
  return (
    <li data-tone={tone}>
      {tone === "bad" && <span aria-hidden>✕ </span>}
      {name}{" "}
      <span className="num">
        <ChartValue figure={figure} label={name} />
      </span>
    </li>
  );
}

const within = (bin: Bin, band: Band): boolean => bin.low >= band.low && bin.high <= band.high;
const edges = ({ low, high }: Bin, unit: string): string =>
  `${quantity(low, unit)} – ${quantity(high, unit)}`;

/** Return the total count of the bins in a band, with all their source lines. The band must contain a bin. */
function countIn(bins: readonly Bin[], band: Band): VisualFigure {
  const counts = bins.filter((bin) => within(bin, band)).map((bin) => bin.count);
  const [first] = counts as [VisualFigure];
  return {
    value: counts.reduce((sum, figure) => sum + figure.value, 0),
    unit: first.unit,
    citation: { ...first.citation, lines: counts.flatMap((figure) => figure.citation.lines) },
  };
}

/** Render the histogram as a table. */
export function HistogramTable({ body, label }: { body: HistogramBody; label: string }) {
  const { t } = useTranslation();
  const pick = useLocalized();
  return (
    <DataTable label={label} stack maxHeight={420}>
      <thead>
        <tr>
          <th>{t("visuals.range")}</th>
          <th className="right">{t("visuals.howMany")}</th>
          <th>{t("visuals.means")}</th>
        </tr>
      </thead>
      <tbody>
        {body.bins.map((bin) => (
          <tr key={bin.low}>
            <td className="num">{edges(bin, body.unit)}</td>
            <td className="right num">
              <ChartValue figure={bin.count} label={edges(bin, body.unit)} />
            </td>
            <td>{pick(body.bands.find((band) => within(bin, band))?.label)}</td>
          </tr>
        ))}
        {body.unbinned.map(([name, figure]) => (
          <tr key={pick(name)}>
            <td>{pick(name)}</td>
            <td className="right num">
              <ChartValue figure={figure} label={pick(name)} />
            </td>
            <td />
          </tr>
        ))}
      </tbody>
    </DataTable>
  );
}
