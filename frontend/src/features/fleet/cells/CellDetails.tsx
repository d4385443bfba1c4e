import { useTranslation } from "../../../lib/text/useTranslation";
import classes from "../Fleet.module.css";

interface Props {
  host: string | undefined;
  column: string | undefined;
  text: string | undefined;
  /** The numbers of rules that were evaluated and matched in the cell. */
  cell?: { evaluated: number; matched: number } | undefined;
  ruleCount?: number;
}

/** The content of the active cell, in one line at a fixed position. */
export function CellDetails({ host, column, text, cell, ruleCount = 0 }: Props) {
  const { t } = useTranslation();
  return (
    <p className={classes.details} aria-live="polite">
      {host && column ? (
        <>
          <strong>{host}</strong> <span>{column}</span> <span>{text}</span>{" "}
          {ruleCount > 0 && (
            <span className="dim">
              {t("fleet.evaluated", {
                evaluated: cell?.evaluated ?? 0,
                total: ruleCount,
                matched: cell?.matched ?? 0,
              })}
            </span>
          )}
        </>
      ) : (
        <span className="dim">{t("fleet.keys")}</span>
      )}
    </p>
  );
}
