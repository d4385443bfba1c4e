import { Button } from "@mantine/core";
import { ArrowDownWideNarrow } from "lucide-react";
import { useTranslation } from "react-i18next";
import classes from "./Fleet.module.css";
import { CELL_LOOKS } from "./looks";
import { Sign } from "./Sign";

interface Props {
  /** The rows would stand in another order by now. */
  stale: boolean;
  onRenew: () => void;
  shown: number;
  of: number;
}

/** Above the rows: how many there are, what the signs mean, and the way to the newest order. Its height never changes. */
export function OrderLine({ stale, onRenew, shown, of }: Props) {
  const { t } = useTranslation();
  return (
    <div className={classes.order}>
      <span className="num">{t("fleet.shown", { shown, of })}</span>
      <ul className={classes.legend} aria-label={t("fleet.legend")}>
        {CELL_LOOKS.map((look) => (
          <li key={look}>
            <span className={classes.swatch} data-look={look}>
              {look !== "absent" && <Sign look={look} />}
            </span>
            {t(`fleet.look.${look}`)}
          </li>
        ))}
      </ul>
      <Button
        size="compact-xs"
        variant="subtle"
        className={classes.renew ?? ""}
        leftSection={<ArrowDownWideNarrow size={13} />}
        style={{ visibility: stale ? "visible" : "hidden" }}
        onClick={onRenew}
      >
        {t("fleet.renew")}
      </Button>
    </div>
  );
}
