import "@mantine/spotlight/styles.css";
import { useMantineColorScheme } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { createSpotlight, Spotlight } from "@mantine/spotlight";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Camera, Clock, Languages, Search as SearchIcon, Server, Siren, SunMoon } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { useOpenDialog } from "../lib/dialogs";
import { useIncidents } from "../lib/incidents/incidents";
import { prefs, setPrefs } from "../lib/prefs";
import { get, usePermission } from "../lib/queries";
import { setLocale, useLocale } from "../lib/text/i18n";
import { useNames } from "../lib/text/useNames";
import { useTranslation } from "../lib/text/useTranslation";
import { MANIFESTS } from "./features";

interface Command {
  id: string;
  label: string;
  icon: ReactNode;
  run: () => void;
}

const SIZE = 15;

/** Render the command palette: search for hosts, captures, incidents, pages and commands. */
export function Palette({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const names = useNames();
  // Opened through its own store, because Spotlight with `forceOpened` sends no close event.
  const [store] = useState(() => {
    const [spotlight, actions] = createSpotlight();
    actions.open();
    return spotlight;
  });
  const [query, setQuery] = useState("");
  const [q] = useDebouncedValue(query.trim(), 120);
  const commands = useCommands();
  const navigate = useNavigate();
  const hosts = useQuery({
    queryKey: ["palette", "hosts", q],
    queryFn: () => get("/hosts", { q, limit: 8 }),
    placeholderData: keepPreviousData,
  });
  const captures = useQuery({
    queryKey: ["palette", "captures"],
    queryFn: () => get("/captures", { limit: 50 }),
  });
  const incidents = useIncidents().data ?? [];
  const needle = query.trim().toLowerCase();
  const matchingCommands = commands.filter((command) => command.label.toLowerCase().includes(needle));
  const matchingCaptures = (captures.data?.items ?? [])
    .filter((capture) =>
      `#${capture.number} ${capture.plan} ${capture.reason}`.toLowerCase().includes(needle),
    )
    .slice(0, 5);
  const matchingIncidents = incidents
    .filter((incident) => `#${incident.number} ${incident.title}`.toLowerCase().includes(needle))
    .slice(0, 5);
  // Until the response arrives, the visible hosts are results of the previous query.
  const settled = q === query.trim() && !hosts.isPlaceholderData && !hosts.isFetching;
  const [entered, setEntered] = useState(false);
  const matchingHosts = needle
    ? (hosts.data?.items ?? [])
        .filter((host) => settled || host.name.toLowerCase().includes(needle))
        // Active hosts first: an imported host can have the same name.
        .sort((a, b) => Number(b.state === "active") - Number(a.state === "active"))
    : [];
  useEffect(() => {
    if (!entered || !settled) return;
    setEntered(false);
    // Enter opens the first item.
    const list = document.getElementById(store.getState().listId);
    list?.querySelector<HTMLElement>("[data-action]")?.click();
  }, [entered, settled, store]);
  return (
    <Spotlight.Root
      store={store}
      onSpotlightClose={onClose}
      query={query}
      onQueryChange={(typed) => {
        setEntered(false);
        setQuery(typed);
      }}
      scrollable
      maxHeight={420}
      lockScroll={false}
      overlayProps={{ backgroundOpacity: 0.5, blur: 0 }}
      shortcut={null}
      transitionProps={{ duration: 60 }}
    >
      <Spotlight.Search
        data-autofocus
        onKeyDown={(event) => {
          // Spotlight handles Enter on an item selected with arrow keys; an input method editor handles its own Enter.
          if (event.key !== "Enter" || event.nativeEvent.isComposing || store.getState().selected >= 0)
            return;
          setEntered(true);
        }}
        placeholder={t("palette.placeholder")}
        aria-label={t("nav.palette")}
        leftSection={<SearchIcon size={SIZE} />}
      />
      <Spotlight.ActionsList>
        {matchingHosts.length > 0 && (
          <Spotlight.ActionsGroup label={t("nav.hosts")}>
            {matchingHosts.map((host) => (
              <Spotlight.Action
                key={host.id}
                label={host.name}
                description={host.state === "active" ? host.address : t(`hosts.state.${host.state}`)}
                leftSection={<Server size={SIZE} />}
                onClick={() => void navigate({ to: "/hosts/$hostId", params: { hostId: host.id } })}
              />
            ))}
          </Spotlight.ActionsGroup>
        )}
        {matchingIncidents.length > 0 && (
          <Spotlight.ActionsGroup label={t("nav.incidents")}>
            {matchingIncidents.map((incident) => (
              <Spotlight.Action
                key={incident.id}
                label={`#${incident.number} ${incident.title}`}
                description={t(`incidents.state.${incident.state}`)}
                leftSection={<Siren size={SIZE} />}
                onClick={() =>
                  void navigate({ to: "/incidents/$incidentId", params: { incidentId: incident.id } })
                }
              />
            ))}
          </Spotlight.ActionsGroup>
        )}
        {matchingCommands.length > 0 && (
          <Spotlight.ActionsGroup label={t("palette.commands")}>
            {matchingCommands.map((command) => (
              <Spotlight.Action
                key={command.id}
                label={command.label}
                leftSection={command.icon}
                onClick={command.run}
              />
            ))}
          </Spotlight.ActionsGroup>
        )}
        {matchingCaptures.length > 0 && (
          <Spotlight.ActionsGroup label={t("nav.captures")}>
            {matchingCaptures.map((capture) => (
              <Spotlight.Action
                key={capture.id}
                label={`#${capture.number} ${names.plan(capture.plan)}`}
                description={capture.reason}
                leftSection={<Camera size={SIZE} />}
                onClick={() =>
                  void navigate({ to: "/captures/$captureId", params: { captureId: capture.id } })
                }
              />
            ))}
          </Spotlight.ActionsGroup>
        )}
        {matchingHosts.length +
          matchingIncidents.length +
          matchingCommands.length +
          matchingCaptures.length ===
          0 && <Spotlight.Empty>{t("palette.nothing")}</Spotlight.Empty>}
      </Spotlight.ActionsList>
    </Spotlight.Root>
  );
}

function useCommands(): Command[] {
  const { t } = useTranslation();
  const can = usePermission();
  const navigate = useNavigate();
  const openDialog = useOpenDialog();
  const locale = useLocale();
  const { toggleColorScheme } = useMantineColorScheme();
  const out: Command[] = [];
  const add = (id: string, label: string, icon: ReactNode, run: () => void) =>
    out.push({ id, label, icon, run });
  for (const { commands = [] } of MANIFESTS)
    for (const { id, key, icon: Icon, permission, dialog, to, search = {} } of commands)
      if (!permission || can(permission))
        add(id, t(key), <Icon size={SIZE} />, () =>
          dialog ? openDialog(dialog) : void navigate({ to: to ?? "/", search }),
        );
  for (const { navigation = [] } of MANIFESTS)
    for (const { to, key, icon: Icon, permission } of navigation)
      if (!permission || can(permission)) add(to, t(key), <Icon size={SIZE} />, () => void navigate({ to }));
  add("scheme", t("nav.theme"), <SunMoon size={SIZE} />, () => toggleColorScheme());
  add("zone", t("nav.zone"), <Clock size={SIZE} />, () =>
    setPrefs({ zone: prefs().zone === "utc" ? "local" : "utc" }),
  );
  add(
    "language",
    locale === "en" ? "中文" : "English",
    <Languages size={SIZE} />,
    () => void setLocale(locale === "en" ? "zh" : "en"),
  );
  return out;
}
