import { Button } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useMutation } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { Dialog } from "../../components/Dialog";
import { ErrorLine } from "../../components/EmptyState";
import { SecretField } from "../../components/fields/SecretField";
import { post } from "../../lib/api";
import { REAUTHENTICATED_KEY, REAUTHENTICATED_PATH, settleProof, useProofRequest } from "../../lib/proof";
import { useMe } from "../../lib/queries";
import { useTranslation } from "../../lib/text/useTranslation";
import classes from "./ReauthenticationDialog.module.css";

/** Dialog that reauthenticates the user when the server requires it for a request. */
export function ReauthenticationDialog() {
  const { t } = useTranslation();
  const request = useProofRequest();
  if (request === null) return null;
  return (
    <Dialog title={t("proof.title")} onClose={() => settleProof(false)} size="sm">
      {request.kind === "provider" ? (
        <ProviderProof minutes={request.minutes} />
      ) : (
        <PasswordProof minutes={request.minutes} />
      )}
    </Dialog>
  );
}

function PasswordProof({ minutes }: { minutes: number }) {
  const { t } = useTranslation();
  const me = useMe();
  const form = useForm({ initialValues: { password: "" } });
  const prove = useMutation({
    mutationFn: (password: string) => post("/session/proof", { password }),
    onSuccess: () => settleProof(true),
  });
  return (
    <form className={classes.form} onSubmit={form.onSubmit((values) => prove.mutate(values.password))}>
      <p className={classes.text}>{t("proof.passwordText", { minutes })}</p>
      <input
        type="text"
        name="username"
        autoComplete="username"
        value={me.data?.name ?? ""}
        readOnly
        hidden
      />
      <SecretField
        label={t("settings.currentPassword")}
        autoComplete="current-password"
        data-autofocus
        required
        {...form.getInputProps("password")}
      />
      <ErrorLine error={prove.error} />
      <Button type="submit" loading={prove.isPending}>
        {t("proof.continue")}
      </Button>
    </form>
  );
}

/** Reauthentication at the identity provider, in a new tab, so that this page keeps its input. */
function ProviderProof({ minutes }: { minutes: number }) {
  const { t } = useTranslation();
  const [isOpened, setOpened] = useState(false);
  const begin = useMutation({
    mutationFn: () => post("/session/oidc/proof", { next: REAUTHENTICATED_PATH }),
  });
  const { mutate } = begin;
  useEffect(() => mutate(), [mutate]);
  useEffect(() => {
    const onStorage = (event: StorageEvent) => {
      if (event.key === REAUTHENTICATED_KEY && event.newValue) settleProof(true);
    };
    window.addEventListener("storage", onStorage);
    return () => window.removeEventListener("storage", onStorage);
  }, []);
  return (
    <div className={classes.form}>
      <p className={classes.text}>{t("proof.providerText", { minutes })}</p>
      <ErrorLine error={begin.error} />
      {isOpened ? (
        <Button onClick={() => settleProof(true)}>{t("proof.continue")}</Button>
      ) : (
        <Button
          component="a"
          href={begin.data?.url}
          target="_blank"
          rel="noopener"
          loading={begin.isPending}
          disabled={!begin.data}
          onClick={() => setOpened(true)}
        >
          {t("proof.openProvider")}
        </Button>
      )}
    </div>
  );
}
