import { DataTable } from "../../../components/tables/DataTable";
import { shortenText } from "../../../core/charts/chartScale";
import { formatQuantity } from "../../../core/text/format";
import { useTranslation } from "../../../lib/text/useTranslation";
import type { PathBody } from "../api";
import { ChartSvg } from "../ChartSvg";
import { ChartMark, ChartValue } from "../ChartValue";
import classes from "../charts.module.css";
import { FillPatterns, fillUrl, Swatch, useFillId } from "../Legend";
import { useWidth } from "../useWidth";

const HEIGHT = 40;
const LETTER = 6.7;

/** Render the total time of requests as a strip, divided into the self time of each operation. */
export function PathView({ body, label }: { body: PathBody; label: string }) {
  const { t } = useTranslation();
  const { ref, width } = useWidth();
  const id = useFillId();
  const whole = Math.max(
    100,
    body.hops.reduce((sum, hop) => sum + Math.max(0, hop.share.value), 0),
  );
  let from = 0;
  const pieces = body.hops.map((hop) => {
    const piece = { hop, x: from, wide: (width * Math.max(0, hop.share.value)) / whole };
    from += piece.wide;
    return piece;
  });
  return (
    <>
      <div ref={ref} className={classes.drawing}>
        <ChartSvg width={width} height={HEIGHT} label={label}>
          <FillPatterns id={id} />
          <rect className={classes.track} x={0.5} y={4.5} width={width - 1} height={HEIGHT - 9} />
          {pieces.map(({ hop, x, wide }, n) => (
            <ChartMark key={n} figure={hop.share} label={hopName(hop)}>
              <title>{`${hopName(hop)} ${formatQuantity(hop.share.value, hop.share.unit)}`}</title>
              <rect
                className={classes.part}
                x={x}
                y={5}
                width={Math.max(1, wide)}
                height={HEIGHT - 10}
                fill={fillUrl(id, n)}
              />
              {wide > 60 && (
                <text className={classes.inside} x={x + wide / 2} y={24} textAnchor="middle">
                  {shortenText(
                    `${hop.service || hop.operation} ${formatQuantity(hop.share.value, hop.share.unit)}`,
                    Math.floor((wide - 12) / LETTER),
                  )}
                </text>
              )}
            </ChartMark>
          ))}
        </ChartSvg>
      </div>
      <ol className={classes.hops}>
        {body.hops.map((hop, n) => (
          <li key={n}>
            <Swatch id={id} n={n} />
            {hop.service && <span className={classes.badge}>{hop.service}</span>}
            <span className={classes.operation} title={hop.operation}>
              {hop.operation}
            </span>
            <span className="num">
              <ChartValue figure={hop.share} label={hopName(hop)} />
            </span>
            <span className="dim num">
              {t("visuals.own")} <ChartValue figure={hop.own} label={t("visuals.own")} /> · p50{" "}
              <ChartValue figure={hop.p50} label="p50" /> · p99 <ChartValue figure={hop.p99} label="p99" />
              {hop.errors !== null && hop.errors.value > 0 && (
                <span className={classes.badText}>
                  {" "}
                  · ✕ <ChartValue figure={hop.errors} label={t("visuals.errors")} /> {t("visuals.errors")}
                </span>
              )}
            </span>
          </li>
        ))}
      </ol>
    </>
  );
}

const hopName = ({ service, operation }: PathBody["hops"][number]): string =>
  [service, operation].filter(Boolean).join(" · ");

/** Render the operations as a table. */
export function PathTable({ body, label }: { body: PathBody; label: string }) {
  const { t } = useTranslation();
  return (
    <DataTable label={label} stack>
      <thead>
        <tr>
          <th>{t("visuals.what")}</th>
          <th className="right">{t("visuals.share")}</th>
          <th className="right">{t("visuals.own")}</th>
          <th className="right">p50</th>
          <th className="right">p99</th>
          <th className="right">{t("visuals.times")}</th>
          <th className="right">{t("visuals.errors")}</th>
        </tr>
      </thead>
      <tbody>
        {body.hops.map((hop, n) => (
          <tr key={n}>
            <td>{hopName(hop)}</td>
            {[hop.share, hop.own, hop.p50, hop.p99, hop.calls, hop.errors].map((figure, i) => (
              <td key={i} className="right num">
                <ChartValue figure={figure} label={hopName(hop)} />
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </DataTable>
  );
}
