import { DataTable } from "../../../components/tables/DataTable";
import { logScale, toCountHeight } from "../../../core/charts/chartScale";
import { formatQuantity } from "../../../core/text/format";
import { useLocalized } from "../../../lib/text/i18n";
import { useTranslation } from "../../../lib/text/useTranslation";
import type { HistogramBody, VisualFigure } from "../api";
import { ChartSvg } from "../ChartSvg";
import { ChartMark, ChartValue } from "../ChartValue";
import classes from "../charts.module.css";
import { FillPatterns, fillUrl, useFillId } from "../Legend";
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
  const localize = useLocalized();
  const id = useFillId();
  const low = body.bins[0]?.low ?? 1;
  const high = Math.max(body.bins.at(-1)?.high ?? 10, low * 10);
  const scale = logScale(low, high);
  const x = (value: number) => SIDE + (width - 2 * SIDE) * scale.at(value);
  const most = Math.max(1, ...body.bins.map((bin) => bin.count.value));
  const y = (count: number) => HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * toCountHeight(count, most);
  const bands = body.bands.filter((band) => body.bins.some((bin) => isInBand(bin, band)));
  return (
    <>
      <div ref={ref} className={classes.drawing}>
        <ChartSvg width={width} height={HEIGHT} label={label}>
          <FillPatterns id={id} />
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
              {formatQuantity(tick, body.unit)}
            </text>
          ))}
          {body.bins.map((bin) => {
            const banded = bands.some((band) => isInBand(bin, band));
            const wide = Math.max(3, x(bin.high) - x(bin.low) - 1);
            return (
              <ChartMark key={bin.low} figure={bin.count} label={formatBinEdges(bin, body.unit)}>
                <title>{`${formatBinEdges(bin, body.unit)} ${formatQuantity(bin.count.value, "count")}`}</title>
                <rect
                  className={classes.part}
                  data-tone={banded ? "bad" : "none"}
                  x={x(bin.low)}
                  y={y(bin.count.value)}
                  width={wide}
                  height={HEIGHT - BOTTOM - y(bin.count.value)}
                  fill={banded ? undefined : fillUrl(id, 0)}
                />
                {wide > 22 && (
                  <text
                    className={classes.axisText}
                    x={x(bin.low) + wide / 2}
                    y={y(bin.count.value) - 3}
                    textAnchor="middle"
                  >
                    {formatQuantity(bin.count.value, "count")}
                  </text>
                )}
              </ChartMark>
            );
          })}
          {body.markers.map(([name, figure]) => (
            <line
              key={localize(name)}
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
          <Entry key={localize(name)} name={localize(name)} figure={figure} />
        ))}
        {bands.map((band) => (
          <Entry
            key={band.low}
            name={localize(band.label)}
            figure={countInBand(body.bins, band)}
            tone={band.tone}
          />
        ))}
        {body.unbinned.map(([name, figure, tone]) => (
          <Entry key={localize(name)} name={localize(name)} figure={figure} tone={tone} />
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

const isInBand = (bin: Bin, band: Band): boolean => bin.low >= band.low && bin.high <= band.high;
const formatBinEdges = ({ low, high }: Bin, unit: string): string =>
  `${formatQuantity(low, unit)} – ${formatQuantity(high, unit)}`;

/** Return the total count of the bins in a band, with all their source lines. The band must contain a bin. */
function countInBand(bins: readonly Bin[], band: Band): VisualFigure {
  const counts = bins.filter((bin) => isInBand(bin, band)).map((bin) => bin.count);
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
  const localize = useLocalized();
  return (
    <DataTable label={label} stack maxHeight={420}>
      <thead>
        <tr>
          <th>{t("visuals.range")}</th>
          <th className="right">{t("visuals.eventCount")}</th>
          <th>{t("visuals.meaning")}</th>
        </tr>
      </thead>
      <tbody>
        {body.bins.map((bin) => (
          <tr key={bin.low}>
            <td className="num">{formatBinEdges(bin, body.unit)}</td>
            <td className="right num">
              <ChartValue figure={bin.count} label={formatBinEdges(bin, body.unit)} />
            </td>
            <td>{localize(body.bands.find((band) => isInBand(bin, band))?.label)}</td>
          </tr>
        ))}
        {body.unbinned.map(([name, figure]) => (
          <tr key={localize(name)}>
            <td>{localize(name)}</td>
            <td className="right num">
              <ChartValue figure={figure} label={localize(name)} />
            </td>
            <td />
          </tr>
        ))}
      </tbody>
    </DataTable>
  );
}
