import {
  ActionIcon,
  Menu,
  Tooltip,
  UnstyledButton,
  useComputedColorScheme,
  useMantineColorScheme,
} from "@mantine/core";
import { useHotkeys } from "@mantine/hooks";
import { Outlet, useLocation, useNavigate } from "@tanstack/react-router";
import { Activity, CircleHelp, Moon, OctagonX, Search as SearchIcon, Sun, UserRound } from "lucide-react";
import { lazy, Suspense, useEffect, useRef, useState } from "react";
import { BlockSkeleton, ErrorState } from "../components/EmptyState";
import { Link } from "../components/Link";
import { KillSwitchBar } from "../features/kill-switch/KillSwitchBar";
import { ApiError, get, remove } from "../lib/api";
import { setPrefs, usePrefs } from "../lib/prefs";
import { useMe, usePermission } from "../lib/queries";
import { loadAllTexts } from "../lib/text/catalog";
import { setLocale, useLocale } from "../lib/text/i18n";
import { useTranslation } from "../lib/text/useTranslation";
import { Dialogs } from "./Dialogs";
import { Navigation } from "./Navigation";
import { OnCallStatus } from "./OnCallStatus";
import { PlatformStatusBar } from "./PlatformStatusBar";
import classes from "./Shell.module.css";

// The palette names pages and commands of all features.
const Palette = lazy(async () => {
  const [module] = await Promise.all([import("./Palette"), loadAllTexts()]);
  return { default: module.Palette };
});
const Shortcuts = lazy(() => import("./Shortcuts").then((m) => ({ default: m.Shortcuts })));

const KillSwitchDialog = lazy(() =>
  import("../features/kill-switch/KillSwitchDialog").then((m) => ({ default: m.KillSwitchDialog })),
);

const PALETTE_KEY = /Mac/.test(navigator.platform) ? "⌘K" : "Ctrl K";

/** End the session, also at the identity provider if the user signed in there. */
async function signOut() {
  const provider = await get("/session/oidc/end").catch(() => null);
  await remove("/session").catch(() => undefined);
  location.assign(provider?.url ?? "/login");
}

/** Render the frame of all pages: navigation, palette, time zone, theme, account. */
export function Shell() {
  const me = useMe();
  const location = useLocation();
  const navigate = useNavigate();
  const { t } = useTranslation();
  const [sheet, setSheet] = useState(false);
  const [palette, setPalette] = useState(false);
  useHotkeys([
    ["mod+K", () => setPalette(true)],
    ["shift+?", () => setSheet(true)],
    ["?", () => setSheet(true)],
  ]);

  const needsLogin = me.error instanceof ApiError && me.error.status === 401;
  const away = needsLogin || me.data?.needs_password === true;
  const left = useRef(false);
  useEffect(() => {
    // Navigate only once: while the sign-in page loads, this component is still mounted, with the URL of that page.
    if (!away || left.current) return;
    left.current = true;
    void navigate({ to: "/login", search: { next: location.href }, replace: true });
  }, [away, location.href, navigate]);
  if (away) return null;
  return (
    <div className={classes.shell}>
      <a href="#main" className={classes.skip}>
        {t("nav.skip")}
      </a>
      <header className={classes.header}>
        <Link to="/" className={classes.brand ?? ""} underline="never" aria-label="Culprit">
          <Activity size={18} aria-hidden />
          <span>Culprit</span>
        </Link>
        <Navigation />
        <UnstyledButton
          className={classes.search}
          onClick={() => setPalette(true)}
          aria-label={`${t("nav.palette")} ${PALETTE_KEY}`}
        >
          <SearchIcon size={14} aria-hidden />
          <span className={classes.searchText}>{t("nav.palette")}</span>
          <kbd>{PALETTE_KEY}</kbd>
        </UnstyledButton>
        <div className={classes.tools}>
          {me.data && <OnCallStatus />}
          <KillSwitchButton />
          <ZoneToggle />
          <LanguageToggle />
          <SchemeToggle />
          <Tooltip label={`${t("nav.shortcuts")} (?)`}>
            <ActionIcon
              onClick={() => setSheet(true)}
              aria-label={t("nav.shortcuts")}
              className={classes.wideOnly ?? ""}
            >
              <CircleHelp size={16} />
            </ActionIcon>
          </Tooltip>
          <Account />
        </div>
      </header>
      {me.data && <KillSwitchBar />}
      {(me.data || (me.error && !needsLogin)) && <PlatformStatusBar />}
      {me.error && !needsLogin ? (
        <main id="main">
          <h1 className="visually-hidden">Culprit</h1>
          <ErrorState error={me.error} retry={() => void me.refetch()} />
        </main>
      ) : me.data ? (
        <Suspense fallback={<BlockSkeleton height={320} />}>
          <Outlet />
          <Dialogs />
        </Suspense>
      ) : (
        <BlockSkeleton height={320} />
      )}
      <Suspense>
        {palette && <Palette onClose={() => setPalette(false)} />}
        {sheet && <Shortcuts onClose={() => setSheet(false)} />}
      </Suspense>
    </div>
  );
}

/** Render the kill switch on all pages, for users with permission. */
function KillSwitchButton() {
  const { t } = useTranslation();
  const can = usePermission();
  const [open, setOpen] = useState(false);
  if (!can("kill_switch.manage")) return null;
  return (
    <>
      <Tooltip label={t("nav.killSwitch")}>
        <ActionIcon onClick={() => setOpen(true)} aria-label={t("nav.killSwitch")}>
          <OctagonX size={16} />
        </ActionIcon>
      </Tooltip>
      <Suspense>{open && <KillSwitchDialog onClose={() => setOpen(false)} />}</Suspense>
    </>
  );
}

function ZoneToggle() {
  const { t } = useTranslation();
  const { zone } = usePrefs();
  return (
    <Tooltip label={t("nav.zone")}>
      <UnstyledButton
        className={classes.toggle}
        onClick={() => setPrefs({ zone: zone === "utc" ? "local" : "utc" })}
        aria-label={`${t("nav.zone")}: ${zone === "utc" ? "UTC" : t("zone.local")}`}
      >
        {zone === "utc" ? "UTC" : t("zone.local")}
      </UnstyledButton>
    </Tooltip>
  );
}

function LanguageToggle() {
  const { t } = useTranslation();
  const locale = useLocale();
  return (
    <Tooltip label={t("nav.language")}>
      <UnstyledButton
        className={classes.toggle}
        onClick={() => void setLocale(locale === "en" ? "zh" : "en")}
        lang={locale === "en" ? "zh-CN" : "en"}
        aria-label={locale === "en" ? "中文" : "EN: English"}
      >
        {locale === "en" ? "中文" : "EN"}
      </UnstyledButton>
    </Tooltip>
  );
}

function SchemeToggle() {
  const { t } = useTranslation();
  const { setColorScheme } = useMantineColorScheme();
  const scheme = useComputedColorScheme("dark");
  return (
    <Tooltip label={t("nav.theme")}>
      <ActionIcon
        onClick={() => setColorScheme(scheme === "dark" ? "light" : "dark")}
        aria-label={t("nav.theme")}
      >
        {scheme === "dark" ? <Sun size={16} /> : <Moon size={16} />}
      </ActionIcon>
    </Tooltip>
  );
}

function Account() {
  const { t } = useTranslation();
  const { data } = useMe();
  const can = usePermission();
  const navigate = useNavigate();
  return (
    <Menu position="bottom-end" withinPortal>
      <Menu.Target>
        <ActionIcon aria-label={t("nav.account")}>
          <UserRound size={16} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          {data?.name} · {data ? t(`role.${data.role}`) : ""}
        </Menu.Label>
        <Menu.Item onClick={() => void navigate({ to: "/settings/$part", params: { part: "account" } })}>
          {t("nav.account")}
        </Menu.Item>
        {can("audit.read") && (
          <Menu.Item onClick={() => void navigate({ to: "/settings/$part", params: { part: "audit" } })}>
            {t("settings.audit.title")}
          </Menu.Item>
        )}
        <Menu.Item component="a" href="/docs" target="_blank" rel="noreferrer">
          {t("nav.apiDocs")}
        </Menu.Item>
        <Menu.Divider />
        <Menu.Item onClick={() => void signOut()}>{t("nav.signOut")}</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
