import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { CheckCircle2, TriangleAlert } from "lucide-react";
import { ConfirmDelete } from "../../../components/ConfirmDelete";
import { ErrorLine, QueryContent } from "../../../components/EmptyState";
import { CommandLine } from "../../../components/fields/CopyButton";
import { Panel } from "../../../components/Page";
import { get, post, remove, useAction } from "../../../lib/queries";
import { useMessage } from "../../../lib/text/i18n";
import { useTranslation } from "../../../lib/text/useTranslation";
import classes from "../Settings.module.css";
import { SingleSignOnForm } from "./SingleSignOnForm";

export const SIGN_ON = ["oidc-provider"];

/** Settings of the identity provider, at most one. Admins can still sign in with a password. */
export function SingleSignOnPanel() {
  const { t } = useTranslation();
  const state = useQuery({ queryKey: SIGN_ON, queryFn: () => get("/oidc-provider") });
  const drop = useAction(() => remove("/oidc-provider"), [SIGN_ON]);
  return (
    <Panel
      flush
      title={t("settings.signOn.title")}
      headerExtra={
        state.data?.provider && (
          <ConfirmDelete
            label={t("settings.remove", { name: state.data.provider.name })}
            onClick={() => drop.mutate(undefined)}
          />
        )
      }
    >
      <p className={classes.note}>{t("settings.signOn.text")}</p>
      <QueryContent query={state}>
        {({ provider, redirect_uri }) => (
          <>
            <div className={classes.newSecret}>
              <p id="redirect-uri">{t("settings.signOn.redirect")}</p>
              <CommandLine text={redirect_uri} />
            </div>
            {provider && <CheckResult people={provider.people} />}
            {drop.error && (
              <div className={classes.line}>
                <ErrorLine error={drop.error} />
              </div>
            )}
            <SingleSignOnForm key={provider?.version ?? 0} provider={provider} />
          </>
        )}
      </QueryContent>
    </Panel>
  );
}

/** Button that checks the provider's metadata without a sign-in, and its result. */
function CheckResult({ people }: { people: number }) {
  const { t } = useTranslation();
  const formatMessage = useMessage();
  const check = useAction(() => post("/oidc-provider/check"), []);
  const checkResult = check.data;
  return (
    <div className={classes.line}>
      <Button variant="default" size="xs" loading={check.isPending} onClick={() => check.mutate(undefined)}>
        {t("settings.signOn.check")}
      </Button>
      <span className="dim">{t("settings.signOn.people", { count: people })}</span>
      <ErrorLine error={check.error} />
      {checkResult && (
        <p role="status" className={classes.outcome}>
          {checkResult.ok ? <CheckCircle2 size={14} aria-hidden /> : <TriangleAlert size={14} aria-hidden />}
          {checkResult.ok
            ? t("settings.signOn.works", {
                count: checkResult.keys,
                algorithms: checkResult.algorithms.join(", "),
              })
            : formatMessage(checkResult.failure)}
          {!checkResult.ok && checkResult.detail && <span className="dim">{checkResult.detail}</span>}
        </p>
      )}
    </div>
  );
}
