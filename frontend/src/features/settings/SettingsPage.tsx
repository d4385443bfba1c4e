import "@mantine/notifications/styles.css";
import { Notifications } from "@mantine/notifications";
import { useParams } from "@tanstack/react-router";
import { type ComponentType, lazy, Suspense, useEffect, useRef } from "react";
import { BlockSkeleton, EmptyState } from "../../components/EmptyState";
import { Link } from "../../components/Link";
import { Page } from "../../components/Page";
import { usePermission } from "../../lib/queries";
import { useTranslation } from "../../lib/text/useTranslation";
import classes from "./Settings.module.css";

const PARTS = [
  "account",
  "tokens",
  "users",
  "signOn",
  "credentials",
  "networks",
  "debuginfod",
  "storage",
  "audit",
] as const;
type Part = (typeof PARTS)[number];

const NEEDS: Partial<Record<Part, string>> = {
  users: "user.manage",
  signOn: "sign_in.manage",
  credentials: "credential.manage",
  networks: "network.manage",
  debuginfod: "debuginfod.manage",
  storage: "storage.read",
  audit: "audit.read",
};

const SCREENS: Record<Part, ComponentType> = {
  account: lazy(() => import("./account/AccountPanel").then((m) => ({ default: m.AccountPanel }))),
  tokens: lazy(() => import("./tokens/TokensPanel").then((m) => ({ default: m.TokensPanel }))),
  users: lazy(() => import("./users/UsersPanel").then((m) => ({ default: m.UsersPanel }))),
  signOn: lazy(() =>
    import("./single-sign-on/SingleSignOnPanel").then((m) => ({ default: m.SingleSignOnPanel })),
  ),
  credentials: lazy(() =>
    import("./credentials/CredentialsPanel").then((m) => ({ default: m.CredentialsPanel })),
  ),
  networks: lazy(() => import("./networks/NetworksPanel").then((m) => ({ default: m.NetworksPanel }))),
  debuginfod: lazy(() =>
    import("./debuginfod/DebuginfodPanel").then((m) => ({ default: m.DebuginfodPanel })),
  ),
  storage: lazy(() => import("./retention/StoragePanel").then((m) => ({ default: m.StoragePanel }))),
  audit: lazy(() => import("./audit-log/AuditLogPanel").then((m) => ({ default: m.AuditLogPanel }))),
};

export function SettingsPage() {
  const { t } = useTranslation();
  const can = usePermission();
  const { part: requested = "account" } = useParams({ strict: false });
  const part: Part = PARTS.includes(requested as Part) ? (requested as Part) : "account";
  const allowed = (item: Part) => !NEEDS[item] || can(NEEDS[item] as string);
  const Screen = SCREENS[part];
  const nav = useRef<HTMLElement>(null);
  // On a narrow screen the navigation scrolls horizontally, so the current item is scrolled into view.
  useEffect(() => {
    const open = nav.current?.querySelector<HTMLElement>(`[data-part="${part}"]`);
    if (nav.current && open) nav.current.scrollLeft = open.offsetLeft - nav.current.clientWidth / 3;
  }, [part]);
  return (
    <Page title={t("nav.settings")}>
      <div className={classes.layout}>
        <nav ref={nav} className={classes.nav} aria-label={t("nav.settings")}>
          {PARTS.filter(allowed).map((item) => (
            <Link
              key={item}
              to="/settings/$part"
              params={{ part: item }}
              underline="never"
              className={classes.item ?? ""}
              data-part={item}
              aria-current={item === part ? "page" : undefined}
            >
              {t(`settings.${item}.title`)}
            </Link>
          ))}
        </nav>
        <div className={classes.content}>
          {allowed(part) ? (
            <Suspense fallback={<BlockSkeleton height={240} />}>
              <Screen />
            </Suspense>
          ) : (
            <EmptyState title={t("error.forbidden")} />
          )}
        </div>
      </div>
      <Notifications position="bottom-right" autoClose={5000} limit={3} />
    </Page>
  );
}
