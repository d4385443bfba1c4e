import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { CheckCircle2, TriangleAlert } from "lucide-react";
import { useTranslation } from "react-i18next";
import type { ProviderChecked, ProviderState } from "../../client/signon";
import { CommandLine } from "../../components/Copy";
import { Drop } from "../../components/Drop";
import { Panel } from "../../components/Page";
import { ErrorLine, Loaded } from "../../components/States";
import { useSentence } from "../../lib/i18n";
import { get, post, remove, useAction } from "../../lib/queries";
import classes from "./Settings.module.css";
import { SignOnForm } from "./SignOnForm";

export const SIGN_ON = ["oidc-provider"];

/** The identity provider with which people may sign in: one, and an admin with a password beside it. */
export function SignOn() {
  const { t } = useTranslation();
  const state = useQuery({ queryKey: SIGN_ON, queryFn: () => get<ProviderState>("/oidc-provider") });
  const drop = useAction(() => remove("/oidc-provider"), [SIGN_ON]);
  return (
    <Panel
      flush
      title={t("settings.signOn.title")}
      aside={
        state.data?.provider && (
          <Drop
            label={t("settings.remove", { name: state.data.provider.name })}
            onClick={() => drop.mutate(undefined)}
          />
        )
      }
    >
      <p className={classes.note}>{t("settings.signOn.text")}</p>
      <Loaded query={state}>
        {({ provider, redirect_uri }) => (
          <>
            <div className={classes.once}>
              <p id="redirect-uri">{t("settings.signOn.redirect")}</p>
              <CommandLine text={redirect_uri} />
            </div>
            {provider && <Tried people={provider.people} />}
            {drop.error && (
              <div className={classes.line}>
                <ErrorLine error={drop.error} />
              </div>
            )}
            <SignOnForm key={provider?.version ?? 0} provider={provider} />
          </>
        )}
      </Loaded>
    </Panel>
  );
}

/** Asks the provider what it says about itself; nobody is signed in by that. */
function Tried({ people }: { people: number }) {
  const { t } = useTranslation();
  const sentence = useSentence();
  const check = useAction(() => post<ProviderChecked>("/oidc-provider/check"), []);
  const found = check.data;
  return (
    <div className={classes.line}>
      <Button variant="default" size="xs" loading={check.isPending} onClick={() => check.mutate(undefined)}>
        {t("settings.signOn.check")}
      </Button>
      <span className="dim">{t("settings.signOn.people", { count: people })}</span>
      <ErrorLine error={check.error} />
      {found && (
        <p role="status" className={classes.outcome}>
          {found.ok ? <CheckCircle2 size={14} aria-hidden /> : <TriangleAlert size={14} aria-hidden />}
          {found.ok
            ? t("settings.signOn.works", { count: found.keys, algorithms: found.algorithms.join(", ") })
            : sentence(found.failure)}
          {!found.ok && found.detail && <span className="dim">{found.detail}</span>}
        </p>
      )}
    </div>
  );
}
