import { formatPercent } from "../../../core/text/format";
import { useTranslation } from "../../../lib/text/useTranslation";
import type { FunctionRow } from "../api";
import classes from "./Panel.module.css";

const MAX_ITEMS = 6;

interface Props {
  /** Undefined while loading; an empty line keeps the space, so that the flame graph below does not move. */
  rows: readonly FunctionRow[] | undefined;
  total: number;
  onPick(frame: string): void;
}

/** Line above the flame graph with the functions of the largest self weight. */
export function TopFunctions({ rows, total, onPick }: Props) {
  const { t } = useTranslation();
  if (!rows) return <div className={classes.heaviest} aria-hidden />;
  const heaviest = [...rows]
    .filter((row) => row.self > 0)
    .sort((x, y) => y.self - x.self)
    .slice(0, MAX_ITEMS);
  if (heaviest.length === 0 || total <= 0) return null;
  return (
    <div className={classes.heaviest}>
      <span className="dim">{t("profile.heaviest")}</span>
      <ul aria-label={t("profile.heaviest")}>
        {heaviest.map((row) => (
          <li key={`${row.frame}${row.module}`}>
            <button type="button" title={`${row.frame}\n${row.module}`} onClick={() => onPick(row.frame)}>
              <span className={classes.heaviestName}>{row.frame}</span>{" "}
              <span className="num">{formatPercent(row.self / total)}</span>
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}
