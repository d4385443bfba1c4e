import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useWrite } from "../../lib/incidents";
import { ActForm } from "./ActForm";
import type { ActProps } from "./Acts";
import { HostFields } from "./HostFields";
import { type HostDraft, hostBody } from "./incidentDraft";
import { PlaybookChoice } from "./PlaybookChoice";

/** More hosts, each with what on it is looked at and as what; and more playbooks to go by. */
export function HostsDialog({ incident, onClose }: ActProps) {
  const { t } = useTranslation();
  const [hosts, setHosts] = useState<readonly HostDraft[]>([]);
  const [playbooks, setPlaybooks] = useState<readonly string[]>([]);
  const second = useWrite(incident, onClose);
  const addPlaybooks = (version?: number) =>
    second.send({ method: "POST", path: "/playbooks", body: { playbooks: [...playbooks] } }, version);
  const write = useWrite(
    incident,
    (now) => (playbooks.length > 0 ? addPlaybooks(now?.version) : onClose()),
    true,
  );
  return (
    <ActForm
      incident={incident}
      write={write.error || write.conflict || write.pending ? write : second}
      title={t("incidents.hosts.addBoth")}
      submit={t("action.add")}
      size="52rem"
      ready={hosts.length > 0 || playbooks.length > 0}
      onSubmit={() =>
        hosts.length > 0
          ? write.send({ method: "POST", path: "/hosts", body: { hosts: hosts.map(hostBody) } })
          : addPlaybooks()
      }
      onClose={onClose}
    >
      <HostFields hosts={hosts} onChange={setHosts} without={incident.hosts.map((one) => one.id)} />
      <PlaybookChoice
        chosen={playbooks}
        onChange={setPlaybooks}
        words={`${incident.title} ${incident.symptom.says}`}
        causes={incident.causes.map((one) => one.cause)}
        without={incident.playbooks.filter((one) => one.current).map((one) => one.id)}
      />
    </ActForm>
  );
}
