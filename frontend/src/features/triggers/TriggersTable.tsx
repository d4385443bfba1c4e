import { useTranslation } from "react-i18next";
import { ALERT_STATES, type Trigger } from "../../client/triggers";
import { Ago } from "../../components/Ago";
import { Grid } from "../../components/Grid";
import { Mark, Tag } from "../../components/Mark";
import { useSentence } from "../../lib/i18n";
import classes from "./triggers.module.css";

interface Props {
  triggers: readonly Trigger[];
  onEdit: ((id: string) => void) | undefined;
}

/** One row for each trigger: what it heard, what came of it today, and the last request that it turned away. */
export function TriggersTable({ triggers, onEdit }: Props) {
  const { t } = useTranslation();
  const sentence = useSentence();
  return (
    <Grid stack label={t("triggers.part.triggers")}>
      <thead>
        <tr>
          <th>{t("triggers.name")}</th>
          <th>{t("triggers.kind")}</th>
          <th>{t("captures.state")}</th>
          <th>{t("triggers.today")}</th>
          <th>{t("triggers.heardAt")}</th>
          <th>{t("triggers.turnedAway")}</th>
          <th>{t("triggers.told")}</th>
          <th>{t("triggers.owner")}</th>
        </tr>
      </thead>
      <tbody>
        {triggers.map((one) => (
          <tr key={one.id}>
            <td>
              {onEdit ? (
                <button type="button" className={classes.name} onClick={() => onEdit(one.id)}>
                  {one.name}
                </button>
              ) : (
                one.name
              )}
            </td>
            <td>
              {t(`triggers.kinds.${one.kind}`)}{" "}
              <span className="dim">{t(`triggers.proofs.${one.proof}`)}</span>
            </td>
            <td>
              <Mark tone={one.enabled ? "ok" : "off"}>{t(one.enabled ? "triggers.on" : "triggers.off")}</Mark>
            </td>
            <td className="num">
              <span className={classes.tags}>
                {ALERT_STATES.filter((state) => one.alerts[state]).map((state) => (
                  <Tag key={state}>
                    {one.alerts[state]} {t(`triggers.state.${state}`)}
                  </Tag>
                ))}
                {Object.keys(one.alerts).length === 0 && <span className="dim">–</span>}
              </span>
            </td>
            <td className="num">
              <Ago at={one.heard_at} />
            </td>
            <td className={classes.why}>
              {one.refused_for ? (
                <>
                  <Mark tone="warn">{sentence(one.refused_for)}</Mark>{" "}
                  <span className="dim">
                    <Ago at={one.refused_at} />
                  </span>
                </>
              ) : (
                <span className="dim">–</span>
              )}
            </td>
            <td>{one.channels.map((each) => each.name).join(", ") || <span className="dim">–</span>}</td>
            <td>{one.owner?.name ?? <span className="dim">–</span>}</td>
          </tr>
        ))}
      </tbody>
    </Grid>
  );
}
