import { ActionIcon, Button, Menu } from "@mantine/core";
import { EllipsisVertical, Hourglass } from "lucide-react";
import { useTranslation } from "react-i18next";
import { INCIDENT_STATES, type Incident, type Person } from "../../client/incidents";
import { Ago } from "../../components/Ago";
import { ButtonLink, Link } from "../../components/Link";
import { Mark, Tag } from "../../components/Mark";
import { cx } from "../../core/cx";
import { useOpenDialog } from "../../lib/dialogs";
import { useMay } from "../../lib/queries";
import { PlayTag } from "./Aside";
import { Autopilot } from "./Autopilot";
import classes from "./Incidents.module.css";
import { STATE_TONES } from "./states";
import type { IncidentView } from "./view";

export function Title({ incident }: { incident: Incident }) {
  return (
    <>
      <span className="num dim">#{incident.number}</span> {incident.title}
    </>
  );
}

export function Severity({ level }: { level: Incident["severity"] }) {
  const { t } = useTranslation();
  return (
    <span
      className={cx(classes.severity, classes[`severity${level}`])}
      title={t(`incidents.severity.${level}`)}
    >
      {t("incidents.severityOf", { level })}
    </span>
  );
}

export function Facts({ incident, link }: { incident: Incident; link: "live" | "paused" }) {
  const { t } = useTranslation();
  return (
    <>
      <Mark tone={STATE_TONES[incident.state]}>{t(`incidents.state.${incident.state}`)}</Mark>
      <Severity level={incident.severity} />
      <span>{t("incidents.hosts.count", { count: incident.hosts.length })}</span>
      <span>
        {t("incidents.age")} <Ago at={incident.created_at} />
      </span>
      {incident.playbooks.map((one) => (
        <PlaybookTag key={one.id} playbook={one} />
      ))}
      {link === "paused" && <Mark tone="warn">{t("incidents.paused")}</Mark>}
    </>
  );
}

function PlaybookTag({ playbook }: { playbook: Incident["playbooks"][number] }) {
  const { t, i18n } = useTranslation();
  const title = i18n.language === "zh" ? playbook.title.zh : playbook.title.en;
  return (
    <span className={classes.playbook}>
      <Link to="/playbooks" search={{ playbook: playbook.id } as never}>
        {title}
      </Link>
      <PlayTag playbook={playbook} />
      {!playbook.current && (
        <Tag title={t("incidents.playbookChangedText")}>{t("incidents.playbookChanged")}</Tag>
      )}
    </span>
  );
}

/** Who takes part; who has it open now is drawn full. */
function People({ people }: { people: readonly Person[] }) {
  const { t } = useTranslation();
  return (
    <ul className={classes.people} aria-label={t("incidents.people")}>
      {people.slice(0, 6).map((one) => (
        <li
          key={one.id}
          className={cx(classes.person, one.here && classes.here)}
          title={t(one.here ? "incidents.here" : "incidents.away", { name: one.name })}
        >
          <span aria-hidden>{[...one.name][0]?.toUpperCase()}</span>
          <span className="visually-hidden">
            {t(one.here ? "incidents.here" : "incidents.away", { name: one.name })}
          </span>
        </li>
      ))}
      {people.length > 6 && <li className="num dim">+{people.length - 6}</li>}
    </ul>
  );
}

/** A capture that starts by itself on its hosts as soon as something begins, as evidence here. */
function Arm({ incident }: { incident: Incident }) {
  const { t } = useTranslation();
  const may = useMay();
  const openDialog = useOpenDialog();
  const hosts = incident.hosts.map((one) => one.id);
  if (!may("armed.manage") || !incident.may.edit || incident.state === "resolved" || hosts.length === 0)
    return null;
  return (
    <Button
      variant="default"
      leftSection={<Hourglass size={14} />}
      onClick={() => openDialog("arm", hosts, "", [], "", incident.id)}
    >
      {t("standbys.armForIncident")}
    </Button>
  );
}

/** Where an incident goes from where it is: one state on, as one button; the others in the menu. */
export function Actions({ incident, view }: { incident: Incident; view: IncidentView }) {
  const { t } = useTranslation();
  const at = INCIDENT_STATES.indexOf(incident.state);
  const on = INCIDENT_STATES[at + 1];
  const back = INCIDENT_STATES.slice(0, at).reverse();
  const mayGo = (to: string) => (to === "resolved" ? incident.may.resolve : incident.may.edit);
  return (
    <>
      <People people={incident.people} />
      <Autopilot incident={incident} />
      <Arm incident={incident} />
      <ButtonLink
        variant="default"
        to="/incidents/$incidentId/reports"
        params={{ incidentId: incident.id } as never}
      >
        {t("reports.open")}
      </ButtonLink>
      {on && mayGo(on) && (
        <Button variant="default" onClick={() => view.set({ act: "state", what: on })}>
          {t(`incidents.to.${on}`)}
        </Button>
      )}
      <Menu position="bottom-end" withinPortal>
        <Menu.Target>
          <ActionIcon variant="default" aria-label={t("incidents.more")}>
            <EllipsisVertical size={16} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          {incident.may.edit && (
            <>
              <Menu.Item onClick={() => view.set({ act: "edit" })}>{t("incidents.edit.title")}</Menu.Item>
              <Menu.Item onClick={() => view.set({ act: "hosts" })}>{t("incidents.hosts.addBoth")}</Menu.Item>
              <Menu.Item onClick={() => view.set({ act: "hypothesis" })}>
                {t("incidents.hypothesis.add")}
              </Menu.Item>
              {back.map((state) => (
                <Menu.Item key={state} onClick={() => view.set({ act: "state", what: state })}>
                  {t("incidents.backTo", { state: t(`incidents.state.${state}`) })}
                </Menu.Item>
              ))}
            </>
          )}
          {incident.may.bundle && (
            <Menu.Item component="a" href={`/api/v1/incidents/${incident.id}/bundle`} download>
              {t("incidents.bundle")}
            </Menu.Item>
          )}
          {incident.may.bundle && (
            <Menu.Item onClick={() => view.set({ act: "export" })}>{t("incidents.export.title")}</Menu.Item>
          )}
          <Menu.Item onClick={() => view.set({ pane: "journal" }, { push: true })}>
            {t("incidents.pane.journal")}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
    </>
  );
}
