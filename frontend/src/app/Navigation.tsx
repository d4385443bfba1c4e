import { Menu, UnstyledButton } from "@mantine/core";
import { createLink, useLocation } from "@tanstack/react-router";
import type { ParseKeys } from "i18next";
import {
  BellRing,
  BookOpen,
  Boxes,
  CalendarClock,
  Camera,
  ChevronDown,
  Ellipsis,
  Flag,
  Flame,
  Grid3x3,
  Library,
  type LucideIcon,
  PhoneCall,
  Ruler,
  Server,
  Settings,
  Siren,
  Stethoscope,
} from "lucide-react";
import { useTranslation } from "react-i18next";
import { Link } from "../components/Link";
import classes from "./Places.module.css";

interface Place {
  to: string;
  key: ParseKeys;
  icon: LucideIcon;
}

interface Group {
  key: ParseKeys;
  icon: LucideIcon;
  places: readonly Place[];
}

const NAV: readonly (Place | Group)[] = [
  { to: "/incidents", key: "nav.incidents", icon: Siren },
  { to: "/hosts", key: "nav.hosts", icon: Server },
  { to: "/fleet", key: "nav.fleet", icon: Grid3x3 },
  { to: "/captures", key: "nav.captures", icon: Camera },
  { to: "/diagnoses", key: "nav.diagnoses", icon: Stethoscope },
  { to: "/services", key: "nav.services", icon: Boxes },
  { to: "/profiles", key: "nav.profiles", icon: Flame },
  {
    key: "nav.groups.oncall",
    icon: BellRing,
    places: [
      { to: "/oncall", key: "oncall.title", icon: PhoneCall },
      { to: "/schedules", key: "nav.schedules", icon: CalendarClock },
      { to: "/triggers", key: "nav.triggers", icon: BellRing },
      { to: "/events", key: "events.title", icon: Flag },
    ],
  },
  {
    key: "nav.groups.library",
    icon: Library,
    places: [
      { to: "/playbooks", key: "nav.playbooks", icon: BookOpen },
      { to: "/rules", key: "nav.rules", icon: Ruler },
    ],
  },
  { to: "/settings", key: "nav.settings", icon: Settings },
];
/** So many stand in the bar of a narrow screen; the rest is behind one button. */
const FEW = 4;

const all = (entries: readonly (Place | Group)[]): Place[] =>
  entries.flatMap((one) => ("places" in one ? one.places : [one]));
const within = (path: string, to: string) => path === to || path.startsWith(`${to}/`);

/** The places of the application, those of one purpose under one name. */
export function Places() {
  const { t } = useTranslation();
  return (
    <nav className={classes.nav} aria-label={t("nav.main")}>
      {NAV.map((one, at) =>
        "places" in one ? (
          <PlaceMenu
            key={one.key}
            name={t(one.key)}
            icon={one.icon}
            places={one.places}
            className={classes.rest ?? ""}
          />
        ) : (
          <Link
            key={one.key}
            to={one.to}
            className={`${classes.place} ${at < FEW ? "" : classes.rest}`}
            underline="never"
            activeProps={{ "data-active": "" } as never}
          >
            <one.icon size={15} aria-hidden />
            <span>{t(one.key)}</span>
          </Link>
        ),
      )}
      <PlaceMenu
        name={t("nav.groups.more")}
        icon={Ellipsis}
        places={all(NAV.slice(FEW))}
        className={classes.more ?? ""}
      />
    </nav>
  );
}

const MenuLink = createLink(Menu.Item<"a">);

interface PlaceMenuProps {
  name: string;
  icon: LucideIcon;
  places: readonly Place[];
  className: string;
}

function PlaceMenu({ name, icon: Icon, places, className }: PlaceMenuProps) {
  const { t } = useTranslation();
  const { pathname } = useLocation();
  const here = places.find((one) => within(pathname, one.to));
  return (
    <Menu position="bottom-start" offset={2} withinPortal>
      <Menu.Target>
        <UnstyledButton className={`${classes.place} ${className}`} {...(here ? { "data-active": "" } : {})}>
          <Icon size={15} aria-hidden />
          <span>{name}</span>
          <ChevronDown size={12} aria-hidden className={classes.chevron} />
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        {places.map((one) => (
          <MenuLink
            key={one.to}
            component="a"
            to={one.to}
            leftSection={<one.icon size={15} aria-hidden />}
            {...(one === here ? { "aria-current": "page" as const } : {})}
          >
            {t(one.key)}
          </MenuLink>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
