import "@mantine/spotlight/styles.css";
import { useMantineColorScheme } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { createSpotlight, Spotlight } from "@mantine/spotlight";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import {
  BellRing,
  BookOpen,
  Boxes,
  CalendarClock,
  Camera,
  Clock,
  FileInput,
  Flag,
  Flame,
  Grid3x3,
  Hourglass,
  Languages,
  PhoneCall,
  Plus,
  Ruler,
  Search as SearchIcon,
  Server,
  Settings,
  Siren,
  Stethoscope,
  SunMoon,
} from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import type { Capture, Host, List } from "../client/types";
import { useOpenDialog } from "../lib/dialogs";
import { setLocale, useLocale } from "../lib/i18n";
import { useIncidents } from "../lib/incidents";
import { prefs, setPrefs } from "../lib/prefs";
import { get, useMay } from "../lib/queries";
import { useNames } from "../lib/useNames";

interface Command {
  id: string;
  label: string;
  icon: ReactNode;
  run: () => void;
}

const SIZE = 15;

/** Everything by typing: hosts, captures, places, commands. */
export function Palette({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const names = useNames();
  // Open from the start in a store of its own: one that is forced open never hears of its closing.
  const [store] = useState(() => {
    const [made, actions] = createSpotlight();
    actions.open();
    return made;
  });
  const [query, setQuery] = useState("");
  const [q] = useDebouncedValue(query.trim(), 120);
  const commands = useCommands();
  const navigate = useNavigate();
  const hosts = useQuery({
    queryKey: ["palette", "hosts", q],
    queryFn: () => get<List<Host>>("/hosts", { q, limit: 8 }),
    placeholderData: keepPreviousData,
  });
  const captures = useQuery({
    queryKey: ["palette", "captures"],
    queryFn: () => get<List<Capture>>("/captures", { limit: 50 }),
  });
  const incidents = useIncidents().data ?? [];
  const needle = query.trim().toLowerCase();
  const foundCommands = commands.filter((one) => one.label.toLowerCase().includes(needle));
  const foundCaptures = (captures.data?.items ?? [])
    .filter((one) => `#${one.number} ${one.plan} ${one.reason}`.toLowerCase().includes(needle))
    .slice(0, 5);
  const foundIncidents = incidents
    .filter((one) => `#${one.number} ${one.title}`.toLowerCase().includes(needle))
    .slice(0, 5);
  // What is shown while the answer is on its way belongs to the letters typed before.
  const settled = q === query.trim() && !hosts.isPlaceholderData && !hosts.isFetching;
  const [entered, setEntered] = useState(false);
  const foundHosts = needle
    ? (hosts.data?.items ?? [])
        .filter((host) => settled || host.name.toLowerCase().includes(needle))
        // One that came with an import may have the name of one that can be captured.
        .sort((a, b) => Number(b.state === "active") - Number(a.state === "active"))
    : [];
  useEffect(() => {
    if (!entered || !settled) return;
    setEntered(false);
    // Enter takes what stands first.
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
          // A choice by arrow is the palette's own; a half-typed Chinese word is not an answer.
          if (event.key !== "Enter" || event.nativeEvent.isComposing || store.getState().selected >= 0)
            return;
          setEntered(true);
        }}
        placeholder={t("palette.placeholder")}
        aria-label={t("nav.palette")}
        leftSection={<SearchIcon size={SIZE} />}
      />
      <Spotlight.ActionsList>
        {foundHosts.length > 0 && (
          <Spotlight.ActionsGroup label={t("nav.hosts")}>
            {foundHosts.map((host) => (
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
        {foundIncidents.length > 0 && (
          <Spotlight.ActionsGroup label={t("nav.incidents")}>
            {foundIncidents.map((one) => (
              <Spotlight.Action
                key={one.id}
                label={`#${one.number} ${one.title}`}
                description={t(`incidents.state.${one.state}`)}
                leftSection={<Siren size={SIZE} />}
                onClick={() =>
                  void navigate({ to: "/incidents/$incidentId", params: { incidentId: one.id } })
                }
              />
            ))}
          </Spotlight.ActionsGroup>
        )}
        {foundCommands.length > 0 && (
          <Spotlight.ActionsGroup label={t("palette.commands")}>
            {foundCommands.map((one) => (
              <Spotlight.Action key={one.id} label={one.label} leftSection={one.icon} onClick={one.run} />
            ))}
          </Spotlight.ActionsGroup>
        )}
        {foundCaptures.length > 0 && (
          <Spotlight.ActionsGroup label={t("nav.captures")}>
            {foundCaptures.map((one) => (
              <Spotlight.Action
                key={one.id}
                label={`#${one.number} ${names.plan(one.plan)}`}
                description={one.reason}
                leftSection={<Camera size={SIZE} />}
                onClick={() => void navigate({ to: "/captures/$captureId", params: { captureId: one.id } })}
              />
            ))}
          </Spotlight.ActionsGroup>
        )}
        {foundHosts.length + foundIncidents.length + foundCommands.length + foundCaptures.length === 0 && (
          <Spotlight.Empty>{t("palette.nothing")}</Spotlight.Empty>
        )}
      </Spotlight.ActionsList>
    </Spotlight.Root>
  );
}

function useCommands(): Command[] {
  const { t } = useTranslation();
  const may = useMay();
  const navigate = useNavigate();
  const openDialog = useOpenDialog();
  const locale = useLocale();
  const { toggleColorScheme } = useMantineColorScheme();
  const out: Command[] = [];
  const add = (id: string, label: string, icon: ReactNode, run: () => void) =>
    out.push({ id, label, icon, run });
  if (may("capture.light"))
    add("capture", t("nav.newCapture"), <Camera size={SIZE} />, () => openDialog("capture"));
  if (may("capture.light"))
    add("diagnose", t("diagnose.title"), <Stethoscope size={SIZE} />, () => openDialog("diagnose"));
  if (may("armed.manage")) add("arm", t("standbys.new"), <Hourglass size={SIZE} />, () => openDialog("arm"));
  if (may("host.enrol"))
    add("add", t("nav.addHost"), <Plus size={SIZE} />, () => void navigate({ to: "/hosts/new" }));
  if (may("capture.import"))
    add("import", t("import.title"), <FileInput size={SIZE} />, () => openDialog("import"));
  if (may("incident.edit"))
    add("incident", t("incidents.new.title"), <Siren size={SIZE} />, () => openDialog("incident"));
  if (may("event.tell"))
    add("annotate", t("events.tell"), <Flag size={SIZE} />, () => openDialog("annotate"));
  add("events", t("events.title"), <Flag size={SIZE} />, () => void navigate({ to: "/events" }));
  add("incidents", t("nav.incidents"), <Siren size={SIZE} />, () => void navigate({ to: "/incidents" }));
  add("hosts", t("nav.hosts"), <Server size={SIZE} />, () => void navigate({ to: "/hosts" }));
  add("fleet", t("nav.fleet"), <Grid3x3 size={SIZE} />, () => void navigate({ to: "/fleet" }));
  add(
    "diagnoses",
    t("nav.diagnoses"),
    <Stethoscope size={SIZE} />,
    () => void navigate({ to: "/diagnoses" }),
  );
  add("playbooks", t("nav.playbooks"), <BookOpen size={SIZE} />, () => void navigate({ to: "/playbooks" }));
  add("rules", t("nav.rules"), <Ruler size={SIZE} />, () => void navigate({ to: "/rules" }));
  add("services", t("nav.services"), <Boxes size={SIZE} />, () => void navigate({ to: "/services" }));
  add(
    "standbys",
    t("standbys.title"),
    <Hourglass size={SIZE} />,
    () => void navigate({ to: "/triggers", search: { part: "armed" } as never }),
  );
  add("triggers", t("nav.triggers"), <BellRing size={SIZE} />, () => void navigate({ to: "/triggers" }));
  add("captures", t("nav.captures"), <Camera size={SIZE} />, () => void navigate({ to: "/captures" }));
  add(
    "schedules",
    t("nav.schedules"),
    <CalendarClock size={SIZE} />,
    () => void navigate({ to: "/schedules" }),
  );
  add("oncall", t("oncall.title"), <PhoneCall size={SIZE} />, () => void navigate({ to: "/oncall" }));
  add("profiles", t("nav.profiles"), <Flame size={SIZE} />, () => void navigate({ to: "/profiles" }));
  add("settings", t("nav.settings"), <Settings size={SIZE} />, () => void navigate({ to: "/settings" }));
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
