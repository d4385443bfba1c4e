import { useTranslation } from "react-i18next";
import type { Judged } from "../../client/incidents";
import { Fold } from "../../components/Fold";
import { Grid } from "../../components/Grid";
import { Verdict } from "../../components/Verdict";
import { percent } from "../../core/format";
import { DiffGlance } from "../../renderers/flame/DiffGlance";
import { MergedNames } from "../../renderers/flame/MergedNames";
import classes from "./Fixes.module.css";

const SHOWN = 30;
/** Fewer hosts have no interval. */
const HOSTS_LEAST = 3;

const signed = (share: number): string => `${share > 0 ? "+" : ""}${percent(share)}`;

/** Where the CPUs spent their time before and after: both sides as one drawing, and each function in numbers. */
export function InCode({ id, result }: { id: string; result: Judged }) {
  const { t } = useTranslation();
  const found = result.differential;
  if (!found) return <p className={classes.noCode}>{t("incidents.verify.noProfiles")}</p>;
  const over = found.hosts.length >= HOSTS_LEAST;
  return (
    <>
      {found.diff_id && <DiffGlance id={found.diff_id} />}
      {found.functions.length > 0 && (
        <Fold
          id={`functions-${id}`}
          title={t("incidents.verify.functions")}
          count={Math.min(SHOWN, found.functions.length)}
          hint={over ? t("incidents.verify.functionsOver", { count: found.hosts.length }) : undefined}
        >
          <Grid label={t("incidents.verify.functions")} maxHeight={360}>
            <thead>
              <tr>
                <th>{t("incidents.verify.function")}</th>
                <th className="right">{t("incidents.verify.side.before")}</th>
                <th className="right">{t("incidents.verify.side.after")}</th>
                <th className="right">{t("incidents.verify.change")}</th>
                {over && <th>{t("incidents.verify.sure")}</th>}
              </tr>
            </thead>
            <tbody>
              {found.functions.slice(0, SHOWN).map((one) => (
                <tr key={one.name}>
                  <td className="mono">{one.name}</td>
                  <td className="num right">{percent(one.before)}</td>
                  <td className="num right">{percent(one.after)}</td>
                  <td className="num right">
                    {signed(one.change)}
                    {over && ` [${signed(one.low)}, ${signed(one.high)}]`}
                  </td>
                  {over && (
                    <td>{one.sure && <Verdict look="supports" label={t("incidents.verify.sure")} />}</td>
                  )}
                </tr>
              ))}
            </tbody>
          </Grid>
        </Fold>
      )}
      {!found.diff_id && <MergedNames id={`merged-${id}`} merged={found.mapping} />}
    </>
  );
}
