import { Menu } from "@mantine/core";
import { ChevronDown } from "lucide-react";
import { useState } from "react";
import type { Incident } from "../../../client/models";
import { ErrorLine } from "../../../components/EmptyState";
import { useOncallCandidates } from "../../../lib/captures/schedules";
import { useIncidentWrite } from "../../../lib/incidents/incidents";
import { useMe, usePermission } from "../../../lib/queries";
import { useTranslation } from "../../../lib/text/useTranslation";
import classes from "./Answer.module.css";

/** Owner of the incident, with a menu that assigns the user, a participant or a colleague. */
export function OwnerMenu({ incident }: { incident: Incident }) {
  const { t } = useTranslation();
  const me = useMe().data;
  const can = usePermission();
  const [opened, setOpened] = useState(false);
  const colleagues = useOncallCandidates(opened && can("oncall.override")).data ?? [];
  const write = useIncidentWrite(incident);
  const owner = incident.owner;
  if (!incident.permissions.edit || !me)
    return (
      <span>
        <span className="dim">{t("incidents.owner.title")}</span> {owner?.name ?? t("incidents.owner.none")}
      </span>
    );
  const others = new Map(
    [...incident.people, ...colleagues]
      .filter((person) => person.id !== me.id && person.id !== owner?.id)
      .map((person) => [person.id, person.name]),
  );
  const set = (id: string | null) => write.send({ method: "PATCH", path: "", body: { owner_id: id } });
  return (
    <>
      <Menu opened={opened} onChange={setOpened} position="bottom-start" withinPortal>
        <Menu.Target>
          <button type="button" className={classes.owner} disabled={write.pending}>
            <span className="dim">{t("incidents.owner.title")}</span>{" "}
            {owner?.name ?? t("incidents.owner.none")} <ChevronDown size={12} aria-hidden />
          </button>
        </Menu.Target>
        <Menu.Dropdown>
          {owner?.id !== me.id && (
            <Menu.Item onClick={() => set(me.id)}>{t("incidents.owner.assignMe")}</Menu.Item>
          )}
          {[...others].map(([id, name]) => (
            <Menu.Item key={id} onClick={() => set(id)}>
              {name}
            </Menu.Item>
          ))}
          {owner && <Menu.Item onClick={() => set(null)}>{t("incidents.owner.remove")}</Menu.Item>}
        </Menu.Dropdown>
      </Menu>
      <ErrorLine error={write.error} />
    </>
  );
}
