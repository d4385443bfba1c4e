import { formatCompact, formatCount, formatDuration } from "../../core/text/format";
import classes from "./Scheduler.module.css";

interface Props {
  /** Lower edges of the buckets in microseconds, ascending. */
  edgesUs: readonly number[];
  counts: readonly number[];
  label: string;
}

/** Render a histogram of waits for a CPU. Bucket widths double; the scale of counts is logarithmic. */
export function DelayHistogram({ edgesUs, counts, label }: Props) {
  const most = Math.max(1, ...counts);
  const scale = (value: number) => (value > 0 ? 6 + 94 * (Math.log1p(value) / Math.log1p(most)) : 0);
  return (
    <figure className={classes.histogram}>
      <figcaption>{label}</figcaption>
      <table>
        <tbody>
          {counts.map((value, i) => (
            <tr key={edgesUs[i]} title={formatCount(value)}>
              <th scope="row">≥ {formatDuration((edgesUs[i] ?? 0) * 1e3)}</th>
              <td className={classes.bar}>
                <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden>
                  <rect width={scale(value)} height="10" />
                </svg>
              </td>
              <td className="num">{value > 0 ? formatCompact(value) : "0"}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </figure>
  );
}
