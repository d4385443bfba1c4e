import { Button, SegmentedControl, useMantineColorScheme } from "@mantine/core";
import { useForm } from "@mantine/form";
import { notifications } from "@mantine/notifications";
import { ErrorLine } from "../../../components/EmptyState";
import { SecretField } from "../../../components/fields/SecretField";
import { Panel } from "../../../components/Page";
import { setPrefs, usePrefs } from "../../../lib/prefs";
import { patch, queryKeys, useAction, useMe } from "../../../lib/queries";
import { type Locale, setLocale, useLocale } from "../../../lib/text/i18n";
import { useTranslation } from "../../../lib/text/useTranslation";
import classes from "../Settings.module.css";

export function AccountPanel() {
  const { t } = useTranslation();
  const me = useMe();
  const locale = useLocale();
  const { zone } = usePrefs();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const language = useAction((value: Locale) => patch("/me", { locale: value }), [queryKeys.me]);
  return (
    <>
      <Panel title={t("settings.account.title")}>
        <div className={classes.setting}>
          <span className="dim">{t("login.name")}</span>
          <span>
            {me.data?.name} · {me.data && t(`role.${me.data.role}`)}
          </span>
        </div>
        <div className={classes.setting}>
          <span className="dim" id="set-language">
            {t("nav.language")}
          </span>
          <SegmentedControl
            size="xs"
            aria-labelledby="set-language"
            value={locale}
            data={[
              { value: "en", label: "English" },
              { value: "zh", label: "中文" },
            ]}
            onChange={(value) => {
              void setLocale(value as Locale);
              language.mutate(value as Locale);
            }}
          />
        </div>
        <div className={classes.setting}>
          <span className="dim" id="set-theme">
            {t("settings.theme")}
          </span>
          <SegmentedControl
            size="xs"
            aria-labelledby="set-theme"
            value={colorScheme}
            data={(["auto", "dark", "light"] as const).map((value) => ({
              value,
              label: t(`settings.themes.${value}`),
            }))}
            onChange={(value) => setColorScheme(value as "auto" | "dark" | "light")}
          />
        </div>
        <div className={classes.setting}>
          <span className="dim" id="set-zone">
            {t("settings.zone")}
          </span>
          <SegmentedControl
            size="xs"
            aria-labelledby="set-zone"
            value={zone}
            data={[
              { value: "utc", label: "UTC" },
              {
                value: "local",
                label: `${t("zone.local")} (${Intl.DateTimeFormat().resolvedOptions().timeZone})`,
              },
            ]}
            onChange={(value) => setPrefs({ zone: value as "utc" | "local" })}
          />
        </div>
        <div className={classes.setting}>
          <span className="dim">{t("settings.version")}</span>
          <span className="num">{me.data?.version}</span>
        </div>
      </Panel>
      {me.data?.uses_single_sign_on ? (
        <Panel title={t("settings.password")}>
          <p className="dim">{t("settings.signOn.noPassword")}</p>
        </Panel>
      ) : (
        <PasswordForm />
      )}
    </>
  );
}

function PasswordForm() {
  const { t } = useTranslation();
  const form = useForm({
    initialValues: { current: "", password: "", again: "" },
    validate: {
      password: (value) => (value.length < 10 ? t("login.tooShort") : null),
      again: (value, values) => (value !== values.password ? t("login.differs") : null),
    },
  });
  const save = useAction(
    (values: typeof form.values) =>
      patch("/me", { password: values.password, current_password: values.current }),
    [queryKeys.me],
    () => {
      form.reset();
      notifications.show({ message: t("settings.passwordChanged") });
    },
  );
  return (
    <Panel title={t("settings.password")}>
      <form className={classes.form} onSubmit={form.onSubmit((values) => save.mutate(values))}>
        <SecretField
          label={t("settings.currentPassword")}
          autoComplete="current-password"
          {...form.getInputProps("current")}
        />
        <SecretField
          label={t("login.newPassword")}
          description={t("login.rule")}
          autoComplete="new-password"
          {...form.getInputProps("password")}
        />
        <SecretField label={t("login.repeat")} autoComplete="new-password" {...form.getInputProps("again")} />
        <ErrorLine error={save.error} />
        <div>
          <Button type="submit" loading={save.isPending}>
            {t("settings.changePassword")}
          </Button>
        </div>
      </form>
    </Panel>
  );
}
