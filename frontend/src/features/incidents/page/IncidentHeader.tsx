import { ActionIcon, Button, Menu } from "@mantine/core";
import { EllipsisVertical, Hourglass } from "lucide-react";
import type { Incident } from "../../../client/models";
import { ButtonLink, Link } from "../../../components/Link";
import { StatusIcon, Tag } from "../../../components/StatusIcon";
import { RelativeTime } from "../../../components/text/RelativeTime";
import { cx } from "../../../core/cx";
import { useOpenDialog } from "../../../lib/dialogs";
import { usePermission } from "../../../lib/queries";
import { useLocalized } from "../../../lib/text/i18n";
import { useTranslation } from "../../../lib/text/useTranslation";
import type { Participant } from "../api";
import { INCIDENT_STATES } from "../api";
import { PlaybookStateTag } from "../chain/PlaybookStateTag";
import { AutopilotSwitch } from "../next-step/AutopilotSwitch";
import classes from "./Incidents.module.css";
import { STATE_TONES } from "./states";
import type { IncidentView } from "./useIncidentView";

export function IncidentTitle({ incident }: { incident: Incident }) {
  return (
    <>
      <span className="num dim">#{incident.number}</span> {incident.title}
    </>
  );
}

export function SeverityTag({ level }: { level: Incident["severity"] }) {
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

export function IncidentFacts({ incident, link }: { incident: Incident; link: "live" | "paused" }) {
  const { t } = useTranslation();
  return (
    <>
      <StatusIcon tone={STATE_TONES[incident.state]}>{t(`incidents.state.${incident.state}`)}</StatusIcon>
      <SeverityTag level={incident.severity} />
      <span>{t("incidents.hosts.count", { count: incident.hosts.length })}</span>
      <span>
        {t("incidents.age")} <RelativeTime at={incident.created_at} />
      </span>
      {incident.playbooks.map((playbook) => (
        <PlaybookTag key={playbook.id} playbook={playbook} />
      ))}
      {link === "paused" && <StatusIcon tone="warn">{t("incidents.paused")}</StatusIcon>}
    </>
  );
}

function PlaybookTag({ playbook }: { playbook: Incident["playbooks"][number] }) {
  const { t } = useTranslation();
  const localized = useLocalized();
  const title = localized(playbook.title);
  return (
    <span className={classes.playbook}>
      <Link to="/playbooks" search={{ playbook: playbook.id }}>
        {title}
      </Link>
      <PlaybookStateTag playbook={playbook} />
      {!playbook.current && (
        <Tag title={t("incidents.playbookChangedText")}>{t("incidents.playbookChanged")}</Tag>
      )}
    </span>
  );
}

/** Participants of the incident; users who have it open now are highlighted. */
function Participants({ people }: { people: readonly Participant[] }) {
  const { t } = useTranslation();
  return (
    <ul className={classes.people} aria-label={t("incidents.people")}>
      {people.slice(0, 6).map((person) => (
        <li
          key={person.id}
          className={cx(classes.person, person.is_present && classes.present)}
          title={t(person.is_present ? "incidents.here" : "incidents.away", { name: person.name })}
        >
          <span aria-hidden>{[...person.name][0]?.toUpperCase()}</span>
          <span className="visually-hidden">
            {t(person.is_present ? "incidents.here" : "incidents.away", { name: person.name })}
          </span>
        </li>
      ))}
      {people.length > 6 && <li className="num dim">+{people.length - 6}</li>}
    </ul>
  );
}

/** Button that creates a conditional capture on the incident's hosts; its result becomes evidence of the incident. */
function CreateWatcherButton({ incident }: { incident: Incident }) {
  const { t } = useTranslation();
  const can = usePermission();
  const openDialog = useOpenDialog();
  const hosts = incident.hosts.map((host) => host.id);
  if (
    !can("watcher.conditional") ||
    !incident.permissions.edit ||
    incident.state === "resolved" ||
    hosts.length === 0
  )
    return null;
  return (
    <Button
      variant="default"
      leftSection={<Hourglass size={14} />}
      onClick={() => openDialog("arm", hosts, "", [], "", incident.id)}
    >
      {t("watchers.createForIncident")}
    </Button>
  );
}

/** Actions of an incident. The next state is a button; earlier states and other actions are in a menu. */
export function IncidentActions({ incident, view }: { incident: Incident; view: IncidentView }) {
  const { t } = useTranslation();
  const at = INCIDENT_STATES.indexOf(incident.state);
  const next = INCIDENT_STATES[at + 1];
  const previous = INCIDENT_STATES.slice(0, at).reverse();
  const mayEnter = (to: string) =>
    to === "resolved" ? incident.permissions.resolve : incident.permissions.edit;
  return (
    <>
      <Participants people={incident.people} />
      <AutopilotSwitch incident={incident} />
      <CreateWatcherButton incident={incident} />
      <ButtonLink variant="default" to="/incidents/$incidentId/reports" params={{ incidentId: incident.id }}>
        {t("reports.open")}
      </ButtonLink>
      {next && mayEnter(next) && (
        <Button variant="default" onClick={() => view.set({ dialog: "state", what: next })}>
          {t(`incidents.to.${next}`)}
        </Button>
      )}
      <Menu position="bottom-end" withinPortal>
        <Menu.Target>
          <ActionIcon variant="default" aria-label={t("incidents.more")}>
            <EllipsisVertical size={16} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          {incident.permissions.edit && (
            <>
              <Menu.Item onClick={() => view.set({ dialog: "edit" })}>{t("incidents.edit.title")}</Menu.Item>
              <Menu.Item onClick={() => view.set({ dialog: "hosts" })}>
                {t("incidents.hosts.addBoth")}
              </Menu.Item>
              <Menu.Item onClick={() => view.set({ dialog: "hypothesis" })}>
                {t("incidents.hypothesis.add")}
              </Menu.Item>
              {previous.map((state) => (
                <Menu.Item key={state} onClick={() => view.set({ dialog: "state", what: state })}>
                  {t("incidents.backTo", { state: t(`incidents.state.${state}`) })}
                </Menu.Item>
              ))}
            </>
          )}
          {incident.permissions.bundle && (
            <Menu.Item component="a" href={`/api/v1/incidents/${incident.id}/regression-bundle`} download>
              {t("incidents.bundle")}
            </Menu.Item>
          )}
          {incident.permissions.bundle && (
            <Menu.Item onClick={() => view.set({ dialog: "export" })}>
              {t("incidents.export.title")}
            </Menu.Item>
          )}
          <Menu.Item onClick={() => view.set({ pane: "journal" }, { push: true })}>
            {t("incidents.pane.journal")}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
    </>
  );
}
