import { useParams } from "@tanstack/react-router";
import { type ComponentType, lazy, Suspense, useEffect, useRef } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "../../components/Link";
import { Page } from "../../components/Page";
import { BlockSkeleton, Empty } from "../../components/States";
import { useMay } from "../../lib/queries";
import classes from "./Settings.module.css";

const PARTS = [
  "account",
  "tokens",
  "users",
  "signOn",
  "credentials",
  "networks",
  "storage",
  "audit",
] as const;
type Part = (typeof PARTS)[number];

const NEEDS: Partial<Record<Part, string>> = {
  users: "user.manage",
  signOn: "signon.manage",
  credentials: "credential.manage",
  networks: "network.manage",
  storage: "storage.read",
  audit: "audit.read",
};

const SCREENS: Record<Part, ComponentType> = {
  account: lazy(() => import("./Account").then((m) => ({ default: m.Account }))),
  tokens: lazy(() => import("./Tokens").then((m) => ({ default: m.Tokens }))),
  users: lazy(() => import("./Users").then((m) => ({ default: m.Users }))),
  signOn: lazy(() => import("./SignOn").then((m) => ({ default: m.SignOn }))),
  credentials: lazy(() => import("./Credentials").then((m) => ({ default: m.Credentials }))),
  networks: lazy(() => import("./Networks").then((m) => ({ default: m.Networks }))),
  storage: lazy(() => import("./Storage").then((m) => ({ default: m.Storage }))),
  audit: lazy(() => import("./Audit").then((m) => ({ default: m.Audit }))),
};

export function SettingsPage() {
  const { t } = useTranslation();
  const may = useMay();
  const { part: asked = "account" } = useParams({ strict: false });
  const part: Part = PARTS.includes(asked as Part) ? (asked as Part) : "account";
  const allowed = (one: Part) => !NEEDS[one] || may(NEEDS[one] as string);
  const Screen = SCREENS[part];
  const nav = useRef<HTMLElement>(null);
  // On a narrow screen the parts are a row that scrolls: the one that is open shall be in it.
  useEffect(() => {
    const open = nav.current?.querySelector<HTMLElement>(`[data-part="${part}"]`);
    if (nav.current && open) nav.current.scrollLeft = open.offsetLeft - nav.current.clientWidth / 3;
  }, [part]);
  return (
    <Page title={t("nav.settings")}>
      <div className={classes.layout}>
        <nav ref={nav} className={classes.nav} aria-label={t("nav.settings")}>
          {PARTS.filter(allowed).map((one) => (
            <Link
              key={one}
              to="/settings/$part"
              params={{ part: one }}
              underline="never"
              className={classes.item ?? ""}
              data-part={one}
              aria-current={one === part ? "page" : undefined}
            >
              {t(`settings.${one}.title`)}
            </Link>
          ))}
        </nav>
        <div className={classes.content}>
          {allowed(part) ? (
            <Suspense fallback={<BlockSkeleton height={240} />}>
              <Screen />
            </Suspense>
          ) : (
            <Empty title={t("error.forbidden")} />
          )}
        </div>
      </div>
    </Page>
  );
}
