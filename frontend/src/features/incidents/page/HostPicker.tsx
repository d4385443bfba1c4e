import { Plus } from "lucide-react";
import { useTranslation } from "react-i18next";
import type { Incident } from "../../client/incidents";
import { Link } from "../../components/Link";
import { LOOKS, Verdict } from "../../components/Verdict";
import classes from "./Incidents.module.css";
import type { IncidentView } from "./view";

interface Props {
  incident: Incident;
  view: IncidentView;
  /** With what each host answers to the step that is looked at. */
  verdicts?: boolean;
}

/** The hosts of the incident; the chosen one is shown in every pane. */
export function HostPicker({ incident, view, verdicts = false }: Props) {
  const { t } = useTranslation();
  return (
    <fieldset className={classes.hosts} aria-label={t("incidents.hosts.title")}>
      {incident.hosts.map((one) => {
        const answer = view.step?.hosts.find((each) => each.host_id === one.id);
        const verdict = answer?.verdict ?? "not_collected";
        return (
          <button
            key={one.id}
            type="button"
            className={classes.host}
            aria-pressed={one.id === view.host?.id}
            onClick={() => view.set({ host: one.id })}
            title={[
              one.name,
              t(`incidents.hosts.role.${one.role}`),
              ...(one.scope.value ? [one.scope.value] : []),
              ...(one.enrolled ? [] : [t("incidents.hosts.notEnrolled")]),
            ].join(" · ")}
          >
            {verdicts && <Verdict look={LOOKS[verdict]} label={t(`playbooks.verdict.${verdict}`)} />}
            <span className="mono">{one.name}</span>
            {one.role !== "suspect" && <span className="dim">{t(`incidents.hosts.role.${one.role}`)}</span>}
            {verdicts && answer?.person && <span className={classes.byPerson}>{answer.person.by?.name}</span>}
          </button>
        );
      })}
      {!verdicts && incident.may.edit && (
        <button type="button" className={classes.host} onClick={() => view.set({ act: "hosts" })}>
          <Plus size={12} aria-hidden /> {t("incidents.hosts.add")}
        </button>
      )}
      {!verdicts && view.host && (
        <Link to="/hosts/$hostId" params={{ hostId: view.host.id }} size="xs">
          {t("incidents.hosts.open")}
        </Link>
      )}
    </fieldset>
  );
}
