import { Link } from "../../../components/Link";
import { cx } from "../../../core/cx";
import { formatBytes } from "../../../core/text/format";
import { byteTicks, listLastDays } from "../../../core/text/storage";
import { useTranslation } from "../../../lib/text/useTranslation";
import { FillPatterns, fillUrl, Swatch, useFillId } from "../../../widgets/charts/Legend";
import { useWidth } from "../../../widgets/charts/useWidth";
import type { Storage, StorageMeasurement, StoredKind } from "../api";
import { STORED_KINDS } from "../api";
import classes from "./Storage.module.css";

const DAYS = 60;
const HEIGHT = 150;
const LEFT = 64;
const BOTTOM = 18;
const MAX_HOSTS = 12;

type Sizes = Partial<Record<string, number>>;
const total = (sizes: Sizes) => Object.values(sizes).reduce<number>((sum, size) => sum + (size ?? 0), 0);

/** Stacked bar of sizes by kind, each as wide as its share of `whole`, with a pattern per kind. */
function SizeParts({
  sizes,
  totalBytes,
  id,
  tall = false,
}: {
  sizes: Sizes;
  totalBytes: number;
  id: string;
  tall?: boolean;
}) {
  let at = 0;
  return (
    <svg className={cx(classes.strip, tall && classes.tall)} aria-hidden>
      <FillPatterns id={id} />
      {STORED_KINDS.map((kind, n) => {
        const width = ((sizes[kind] ?? 0) / Math.max(1, totalBytes)) * 100;
        const x = at;
        at += width;
        return (
          width > 0 && <rect key={kind} x={`${x}%`} width={`${width}%`} height="100%" fill={fillUrl(id, n)} />
        );
      })}
    </svg>
  );
}

/** Disk usage: bytes of each kind, of permanent data, of other users of the disk, and free space. */
export function DiskBar({ measured, store }: { measured: StorageMeasurement; store: Storage["store"] }) {
  const { t } = useTranslation();
  const id = useFillId();
  const { disk, kinds } = measured;
  const sizes = Object.fromEntries(STORED_KINDS.map((kind) => [kind, kinds[kind]?.bytes ?? 0]));
  const permanent = Object.values(measured.permanent).reduce((sum, size) => sum + size, 0);
  const ours = total(sizes);
  const used = store === "directory" ? disk.total - disk.free : ours + permanent;
  const others = Math.max(0, used - ours - permanent);
  const whole = store === "directory" ? disk.total : Math.max(1, used);
  return (
    <figure className={classes.figure} aria-label={t("storage.diskLabel")}>
      <div className={classes.disk}>
        <div style={{ width: `${(ours / whole) * 100}%` }}>
          <SizeParts sizes={sizes} totalBytes={ours} id={id} tall />
        </div>
        <div className={classes.permanent} style={{ width: `${(permanent / whole) * 100}%` }} />
        <div className={classes.others} style={{ width: `${(others / whole) * 100}%` }} />
      </div>
      <ul className={classes.legend}>
        {STORED_KINDS.map((kind, n) => (
          <li key={kind}>
            <Swatch id={id} n={n} />
            {t(`storage.kinds.${kind}`)} <span className="num">{formatBytes(sizes[kind])}</span>
          </li>
        ))}
        <li>
          <span className={cx(classes.sample, classes.permanent)} />
          {t("storage.permanent")} <span className="num">{formatBytes(permanent)}</span>
        </li>
        {store === "directory" && (
          <li>
            <span className={cx(classes.sample, classes.others)} />
            {t("storage.others")} <span className="num">{formatBytes(others)}</span>
          </li>
        )}
      </ul>
    </figure>
  );
}

/** Stored bytes by the day on which they were added, for the last `DAYS` days. Deleted data lowers its day's bar. */
export function DayBars({ measured }: { measured: StorageMeasurement }) {
  const { t } = useTranslation();
  const { ref, width } = useWidth();
  const id = useFillId();
  const days = listLastDays(new Date(measured.at), DAYS);
  const of = (day: string): [StoredKind, number][] =>
    STORED_KINDS.map((kind) => [kind, measured.days[kind]?.[day] ?? 0]);
  const sums = days.map((day) => of(day).reduce((sum, [, size]) => sum + size, 0));
  if (!sums.some(Boolean)) return <p className={classes.unknown}>{t("storage.noDays", { count: DAYS })}</p>;
  const ticks = byteTicks(Math.max(...sums), 3);
  const top = ticks.at(-1) || 1;
  const slot = (width - LEFT) / DAYS;
  const y = (value: number) => 6 + (HEIGHT - BOTTOM - 6) * (1 - value / top);
  return (
    <div ref={ref} className={classes.drawing}>
      <svg width={width} height={HEIGHT} role="img" aria-label={t("storage.daysLabel", { count: DAYS })}>
        <FillPatterns id={id} />
        {ticks.map((tick) => (
          <g key={tick}>
            <line x1={LEFT} x2={width} y1={y(tick)} y2={y(tick)} className={classes.grid} />
            <text x={LEFT - 6} y={y(tick) + 4} textAnchor="end" className={classes.axis}>
              {formatBytes(tick)}
            </text>
          </g>
        ))}
        {days.map((day, i) => {
          let at = 0;
          return (
            <g key={day}>
              <title>{`${day}: ${formatBytes(sums[i])}`}</title>
              <rect x={LEFT + i * slot} y={0} width={slot} height={HEIGHT - BOTTOM} fill="transparent" />
              {of(day).map(([kind, size], n) => {
                at += size;
                return size > 0 ? (
                  <rect
                    key={kind}
                    x={LEFT + i * slot + slot * 0.12}
                    width={Math.max(1, slot * 0.76)}
                    y={y(at)}
                    height={Math.max(0.5, y(at - size) - y(at))}
                    fill={fillUrl(id, n)}
                  />
                ) : null;
              })}
            </g>
          );
        })}
        {[0, DAYS - 1].map((i) => (
          <text
            key={i}
            x={i ? width : LEFT}
            y={HEIGHT - 4}
            textAnchor={i ? "end" : "start"}
            className={classes.axis}
          >
            {days[i]}
          </text>
        ))}
      </svg>
    </div>
  );
}

/** Stored bytes of the largest hosts, relative to the largest. */
export function HostBars({ measured }: { measured: StorageMeasurement }) {
  const { t } = useTranslation();
  const id = useFillId();
  const rows = measured.hosts.slice(0, MAX_HOSTS);
  if (rows.length === 0) return <p className={classes.unknown}>{t("storage.noHosts")}</p>;
  const largest = Math.max(...rows.map((row) => total(row.kinds)));
  return (
    <ul className={classes.hosts}>
      {rows.map((row, n) => (
        <li key={row.host_id ?? `none-${n}`}>
          <span className={classes.host}>
            {row.host_id ? (
              <Link to="/hosts/$hostId" params={{ hostId: row.host_id }}>
                {row.name}
              </Link>
            ) : row.other_host_count ? (
              t("storage.otherHosts", { count: row.other_host_count })
            ) : (
              t("storage.withoutHost")
            )}
          </span>
          <SizeParts sizes={row.kinds} totalBytes={largest} id={`${id}-${n}`} />
          <span className="num right">{formatBytes(total(row.kinds))}</span>
        </li>
      ))}
    </ul>
  );
}
