import { useState } from "react";
import { useIncidentWrite } from "../../../lib/incidents/incidents";
import { useTranslation } from "../../../lib/text/useTranslation";
import { HostFields } from "../list/HostFields";
import { type HostDraft, toHostBody } from "../list/incidentDraft";
import { PlaybookSelect } from "../list/PlaybookSelect";
import { IncidentForm } from "./IncidentForm";
import type { IncidentDialogProps } from "./types";

/** Dialog that adds hosts, each with scope and role, and playbooks to an incident. */
export function HostsDialog({ incident, onClose }: IncidentDialogProps) {
  const { t } = useTranslation();
  const [hosts, setHosts] = useState<readonly HostDraft[]>([]);
  const [playbooks, setPlaybooks] = useState<readonly string[]>([]);
  const second = useIncidentWrite(incident, onClose);
  const addPlaybooks = (version?: number) =>
    second.send({ method: "POST", path: "/playbooks", body: { playbooks: [...playbooks] } }, version);
  const write = useIncidentWrite(
    incident,
    (now) => (playbooks.length > 0 ? addPlaybooks(now?.version) : onClose()),
    true,
  );
  return (
    <IncidentForm
      incident={incident}
      write={write.error || write.conflict || write.pending ? write : second}
      title={t("incidents.hosts.addBoth")}
      submit={t("action.add")}
      size="52rem"
      ready={hosts.length > 0 || playbooks.length > 0}
      onSubmit={() =>
        hosts.length > 0
          ? write.send({ method: "POST", path: "/hosts", body: { hosts: hosts.map(toHostBody) } })
          : addPlaybooks()
      }
      onClose={onClose}
    >
      <HostFields hosts={hosts} onChange={setHosts} excludedIds={incident.hosts.map((host) => host.id)} />
      <PlaybookSelect
        chosen={playbooks}
        onChange={setPlaybooks}
        symptomText={`${incident.title} ${incident.symptom.description}`}
        causes={incident.causes.map((cause) => cause.cause)}
        excludedIds={incident.playbooks.filter((playbook) => playbook.current).map((playbook) => playbook.id)}
      />
    </IncidentForm>
  );
}
