import { Menu, UnstyledButton } from "@mantine/core";
import { createLink, useLocation } from "@tanstack/react-router";
import { BellRing, ChevronDown, Ellipsis, Library, type LucideIcon } from "lucide-react";
import { Link } from "../components/Link";
import type { NavigationGroupName, NavigationItem } from "../lib/manifest";
import type { PlainTextKey } from "../lib/text/useTranslation";
import { useTranslation } from "../lib/text/useTranslation";
import { MANIFESTS } from "./features";
import classes from "./Navigation.module.css";

interface NavigationGroup {
  key: PlainTextKey;
  icon: LucideIcon;
  places: readonly NavigationItem[];
}

const GROUPS: Record<NavigationGroupName, Pick<NavigationGroup, "key" | "icon">> = {
  oncall: { key: "nav.groups.oncall", icon: BellRing },
  library: { key: "nav.groups.library", icon: Library },
};

const ITEMS = MANIFESTS.flatMap((manifest) => manifest.navigation ?? []);

/** Navigation items in the order of the features. A group has the position of its first item. */
const NAV: readonly (NavigationItem | NavigationGroup)[] = ITEMS.flatMap(
  (item): readonly (NavigationItem | NavigationGroup)[] => {
    const { group } = item;
    if (!group) return [item];
    const places = ITEMS.filter((other) => other.group === group);
    return places[0] === item ? [{ ...GROUPS[group], places }] : [];
  },
);

/** Number of items in the bar of a narrow screen. The other items are in a menu. */
const NARROW_ITEMS = 4;

const flattenItems = (entries: readonly (NavigationItem | NavigationGroup)[]): NavigationItem[] =>
  entries.flatMap((entry) => ("places" in entry ? entry.places : [entry]));
const isWithin = (path: string, to: string) => path === to || path.startsWith(`${to}/`);

/** Render the main navigation. Items of a group are in a menu. */
export function Navigation() {
  const { t } = useTranslation();
  return (
    <nav className={classes.nav} aria-label={t("nav.main")}>
      {NAV.map((item, at) =>
        "places" in item ? (
          <NavigationMenu
            key={item.key}
            name={t(item.key)}
            icon={item.icon}
            places={item.places}
            className={classes.wideOnly ?? ""}
          />
        ) : (
          <Link
            key={item.key}
            to={item.to}
            className={`${classes.item} ${at < NARROW_ITEMS ? "" : classes.wideOnly}`}
            underline="never"
            activeProps={{ "data-active": "" }}
          >
            <item.icon size={15} aria-hidden />
            <span>{t(item.key)}</span>
          </Link>
        ),
      )}
      <NavigationMenu
        name={t("nav.groups.more")}
        icon={Ellipsis}
        places={flattenItems(NAV.slice(NARROW_ITEMS))}
        className={classes.more ?? ""}
      />
    </nav>
  );
}

const MenuLink = createLink(Menu.Item<"a">);

interface NavigationMenuProps {
  name: string;
  icon: LucideIcon;
  places: readonly NavigationItem[];
  className: string;
}

function NavigationMenu({ name, icon: Icon, places, className }: NavigationMenuProps) {
  const { t } = useTranslation();
  const { pathname } = useLocation();
  const here = places.find((navigationItem) => isWithin(pathname, navigationItem.to));
  return (
    <Menu position="bottom-start" offset={2} withinPortal>
      <Menu.Target>
        <UnstyledButton className={`${classes.item} ${className}`} {...(here ? { "data-active": "" } : {})}>
          <Icon size={15} aria-hidden />
          <span>{name}</span>
          <ChevronDown size={12} aria-hidden className={classes.chevron} />
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        {places.map((navigationItem) => (
          <MenuLink
            key={navigationItem.to}
            component="a"
            to={navigationItem.to}
            leftSection={<navigationItem.icon size={15} aria-hidden />}
            {...(navigationItem === here ? { "aria-current": "page" as const } : {})}
          >
            {t(navigationItem.key)}
          </MenuLink>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
