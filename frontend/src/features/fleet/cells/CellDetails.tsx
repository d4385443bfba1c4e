import { useTranslation } from "react-i18next";
import classes from "./Fleet.module.css";

interface Props {
  host: string | undefined;
  column: string | undefined;
  words: string | undefined;
  /** How many rules spoke and fired there, and how many there are. */
  said?: { said: number; fired: number } | undefined;
  asks?: number;
}

/** What stands in the cell that the keys are at: in one line, at one place. */
export function AtCell({ host, column, words, said, asks = 0 }: Props) {
  const { t } = useTranslation();
  return (
    <p className={classes.at} aria-live="polite">
      {host && column ? (
        <>
          <strong>{host}</strong> <span>{column}</span> <span>{words}</span>{" "}
          {asks > 0 && (
            <span className="dim">
              {t("fleet.spoke", { said: said?.said ?? 0, asks, fired: said?.fired ?? 0 })}
            </span>
          )}
        </>
      ) : (
        <span className="dim">{t("fleet.keys")}</span>
      )}
    </p>
  );
}
