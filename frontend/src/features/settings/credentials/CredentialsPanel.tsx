import { useQuery } from "@tanstack/react-query";
import { ConfirmDelete } from "../../../components/ConfirmDelete";
import { EmptyState, ErrorLine } from "../../../components/EmptyState";
import { CopyButton } from "../../../components/fields/CopyButton";
import { ButtonLink } from "../../../components/Link";
import { Panel } from "../../../components/Page";
import { get, remove, useAction } from "../../../lib/queries";
import { useTimeFormat } from "../../../lib/text/useFormat";
import { useTranslation } from "../../../lib/text/useTranslation";
import classes from "../Settings.module.css";
import { SettingsTable } from "../SettingsTable";

const KEY = ["credentials"];

export function CredentialsPanel() {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const credentials = useQuery({
    queryKey: [...KEY, "settings"],
    queryFn: () => get("/credentials", { limit: 200 }),
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
      <SettingsTable
        label={t("settings.credentials.title")}
        query={credentials}
        none={
          <EmptyState
            title={t("settings.credentials.none")}
            action={<ButtonLink to="/hosts/new">{t("nav.addHost")}</ButtonLink>}
          />
        }
        columns={[
          { head: t("hosts.name"), cell: (credential) => credential.name },
          { head: t("credential.kind"), cell: (credential) => t(`credential.kinds.${credential.kind}`) },
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
          { head: t("nav.hosts"), className: "num right", cell: (credential) => credential.hosts ?? "–" },
          {
            head: t("settings.users.since"),
            className: "num",
            cell: (credential) => time.iso(credential.created_at),
          },
        ]}
        renderActions={(credential) => (
          <ConfirmDelete
            label={t("settings.remove", { name: credential.name })}
            onClick={() => drop.mutate(credential.id)}
          />
        )}
      />
    </Panel>
  );
}
