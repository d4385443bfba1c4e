import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import type { Credential, List } from "../../client/types";
import { CopyButton } from "../../components/Copy";
import { Drop } from "../../components/Drop";
import { ButtonLink } from "../../components/Link";
import { Panel } from "../../components/Page";
import { Empty, ErrorLine } from "../../components/States";
import { get, remove, useAction } from "../../lib/queries";
import { useTimeFormat } from "../../lib/useFormat";
import { Rows } from "./Rows";
import classes from "./Settings.module.css";

const KEY = ["credentials"];

export function Credentials() {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const credentials = useQuery({
    queryKey: [...KEY, "settings"],
    queryFn: () => get<List<Credential>>("/credentials", { limit: 200 }),
  });
  const drop = useAction((id: string) => remove(`/credentials/${id}`), [KEY]);
  return (
    <Panel flush title={t("settings.credentials.title")}>
      <p className={classes.note}>{t("settings.credentials.text")}</p>
      {drop.error && (
        <div className={classes.line}>
          <ErrorLine error={drop.error} />
        </div>
      )}
      <Rows
        label={t("settings.credentials.title")}
        query={credentials}
        none={
          <Empty
            title={t("settings.credentials.none")}
            action={<ButtonLink to="/hosts/new">{t("nav.addHost")}</ButtonLink>}
          />
        }
        columns={[
          { head: t("hosts.name"), cell: (one) => one.name },
          { head: t("credential.kind"), cell: (one) => t(`credential.kinds.${one.kind}`) },
          {
            head: t("settings.credentials.public"),
            className: classes.detail,
            cell: ({ public: open }) => (
              <>
                {open.fingerprint ?? open.authorized_keys_line ?? "–"}
                {open.authorized_keys_line && (
                  <CopyButton text={open.authorized_keys_line} label={t("settings.credentials.copyLine")} />
                )}
              </>
            ),
          },
          { head: t("nav.hosts"), className: "num right", cell: (one) => one.hosts ?? "–" },
          { head: t("settings.users.since"), className: "num", cell: (one) => time.iso(one.created_at) },
        ]}
        act={(one) => (
          <Drop label={t("settings.remove", { name: one.name })} onClick={() => drop.mutate(one.id)} />
        )}
      />
    </Panel>
  );
}
