import { Button, Menu } from "@mantine/core";
import { ChevronDown, Stethoscope } from "lucide-react";
import type { Incident } from "../../../client/models";
import { ErrorLine } from "../../../components/EmptyState";
import { incidentKeys } from "../../../lib/incidents/incidents";
import { post, queryKeys, useAction, usePermission } from "../../../lib/queries";
import { useTranslation } from "../../../lib/text/useTranslation";
import classes from "./Answer.module.css";

/** Return an action that starts a diagnosis for an incident; its causes become hypotheses when it ends. */
export const useDiagnoseHost = (incident: Incident) =>
  useAction(
    (hostId: string) => post(`/incidents/${incident.id}/diagnoses`, { host_id: hostId }),
    [incidentKeys.all, queryKeys.diagnoses, queryKeys.captures],
  );

/** Button that diagnoses a host with the symptom, before any playbook is selected. */
export function DiagnoseHost({ incident }: { incident: Incident }) {
  const { t } = useTranslation();
  const can = usePermission();
  const start = useDiagnoseHost(incident);
  const hosts = incident.hosts.filter((host) => host.can_capture && host.role !== "control");
  const [first] = hosts;
  const isAllowed = can("capture.light") && incident.permissions.edit;
  return (
    <div className={classes.row}>
      <p className={classes.headline}>
        <strong>{t("incidents.answer.none")}</strong>{" "}
        <span className="dim">
          {t(
            first
              ? isAllowed
                ? "incidents.answer.noneText"
                : "incidents.answer.notAllowed"
              : "incidents.answer.noHost",
          )}
        </span>
      </p>
      <ErrorLine error={start.error} />
      {isAllowed && first && hosts.length === 1 && (
        <Button
          leftSection={<Stethoscope size={14} />}
          loading={start.isPending}
          onClick={() => start.mutate(first.id)}
        >
          {t("incidents.answer.diagnose", { host: first.name })}
        </Button>
      )}
      {isAllowed && hosts.length > 1 && (
        <Menu position="bottom-end" withinPortal>
          <Menu.Target>
            <Button
              leftSection={<Stethoscope size={14} />}
              rightSection={<ChevronDown size={14} />}
              loading={start.isPending}
            >
              {t("incidents.answer.diagnoseOne")}
            </Button>
          </Menu.Target>
          <Menu.Dropdown>
            {hosts.map((host) => (
              <Menu.Item key={host.id} onClick={() => start.mutate(host.id)}>
                {host.name}
              </Menu.Item>
            ))}
          </Menu.Dropdown>
        </Menu>
      )}
    </div>
  );
}
