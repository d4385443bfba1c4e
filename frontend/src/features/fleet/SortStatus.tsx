import { Button } from "@mantine/core";
import { ArrowDownWideNarrow } from "lucide-react";
import { useTranslation } from "../../lib/text/useTranslation";
import { CellIcon } from "./cells/CellIcon";
import { CELL_STATES } from "./cells/cellStates";
import classes from "./Fleet.module.css";

interface Props {
  /** Whether sorting again would change the order. */
  stale: boolean;
  onRenew: () => void;
  visible: number;
  total: number;
}

/** Line above the rows: row count, icon legend, and a button to sort again. Its height never changes. */
export function SortStatus({ stale, onRenew, visible, total }: Props) {
  const { t } = useTranslation();
  return (
    <div className={classes.order}>
      <span className="num">{t("fleet.visible", { visible, total })}</span>
      <ul className={classes.legend} aria-label={t("fleet.legend")}>
        {CELL_STATES.map((state) => (
          <li key={state}>
            <span className={classes.swatch} data-look={state}>
              {state !== "absent" && <CellIcon state={state} />}
            </span>
            {t(`fleet.state.${state}`)}
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
