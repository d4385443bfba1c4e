import { shortenMiddle } from "../../../core/charts/chartScale";
import { formatPercent } from "../../../core/text/format";
import { useTranslation } from "../../../lib/text/useTranslation";
import type { FunctionRow } from "../api";
import classes from "./Panel.module.css";

const MAX_ITEMS = 6;
/** Long names lose their middle: frames without a symbol differ only at the end, in their address. */
const MAX_LETTERS = 24;
/** Shorter names keep all of their letters when the line is too narrow. */
const WHOLE_LETTERS = 12;

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
          <li
            key={`${row.frame}${row.module}`}
            style={{ flexShrink: row.frame.length > WHOLE_LETTERS ? 1 : 0 }}
          >
            <button type="button" title={`${row.frame}\n${row.module}`} onClick={() => onPick(row.frame)}>
              <span className={classes.heaviestName}>{shortenMiddle(row.frame, MAX_LETTERS)}</span>{" "}
              <span className="num">{formatPercent(row.self / total)}</span>
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}
