import { cx } from "../../core/cx";
import { useTranslation } from "../../lib/text/useTranslation";
import classes from "./Difference.module.css";

/** Render the legend of a differential flame graph: colors, with signs as a second cue. */
export function ComparisonLegend() {
  const { t } = useTranslation();
  return (
    <span className={classes.legend}>
      <i className={cx(classes.swatch, classes.grew)} /> ▲ {t("compare.grew")}
      <i className={cx(classes.swatch, classes.same)} /> {t("compare.same")}
      <i className={cx(classes.swatch, classes.shrank)} /> ▼ {t("compare.shrank")}
    </span>
  );
}
