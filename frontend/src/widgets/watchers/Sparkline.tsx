import classes from "./watchers.module.css";

const WIDTH = 96;
const HEIGHT = 18;

interface Props {
  /** Oldest first; null is no data. */
  values: readonly (number | null)[];
  /** Threshold, rendered as a horizontal line. */
  limit?: number | undefined;
  label: string;
}

/** Render the last readings as a sparkline. Without data it is hatched, so that it does not look like zero. */
export function Sparkline({ values, limit, label }: Props) {
  const known = values.filter((value) => value !== null);
  if (known.length === 0) return <span className={classes.empty} role="img" aria-label={label} />;
  const low = Math.min(0, ...known, limit ?? 0);
  const high = Math.max(...known, limit ?? 0, low + 1e-9);
  const y = (value: number) => HEIGHT - 1 - ((value - low) / (high - low)) * (HEIGHT - 2);
  const step = WIDTH / Math.max(1, values.length - 1);
  let path = "";
  let pen = false;
  values.forEach((value, index) => {
    if (value === null) {
      pen = false;
      return;
    }
    path += `${pen ? "L" : "M"}${(index * step).toFixed(1)} ${y(value).toFixed(1)}`;
    pen = true;
  });
  return (
    <svg className={classes.spark} width={WIDTH} height={HEIGHT} role="img" aria-label={label}>
      {limit !== undefined && (
        <line className={classes.limit} x1={0} x2={WIDTH} y1={y(limit)} y2={y(limit)} />
      )}
      <path d={path} className={classes.line} />
    </svg>
  );
}
