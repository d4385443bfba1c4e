import { Button, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useLocation, useSearch } from "@tanstack/react-router";
import { Activity } from "lucide-react";
import { type ReactNode, useEffect, useRef } from "react";
import type { Me } from "../../client/models";
import { ErrorLine } from "../../components/EmptyState";
import { SecretField } from "../../components/fields/SecretField";
import type { Search } from "../../core/search";
import { ApiError, get, patch, post, rememberCsrf } from "../../lib/api";
import { queryKeys, useMe } from "../../lib/queries";
import { useMessage } from "../../lib/text/i18n";
import { useTranslation } from "../../lib/text/useTranslation";
import classes from "./SignInPage.module.css";

/** Return `next` if it is a path on this server other than the login page, else "/". */
export function toSafePath(next: string | undefined): string {
  return next?.startsWith("/") && !/^\/[/\\]/.test(next) && !next.startsWith("/login") ? next : "/";
}

/** Known values of `refused` in the URL: last parts of message keys `sign_in.<reason>`. Other values are ignored. */
const REFUSALS = [
  "away",
  "claims",
  "code",
  "denied",
  "discovery",
  "issuer",
  "keys",
  "no_role",
  "not_fresh",
  "off",
  "other_person",
  "over",
  "state",
  "token",
  "withdrawn",
] as const;

/** Return the one-time token of a first-login link from the URL fragment, or undefined. */
export const parseLinkToken = (hash: string): string | undefined =>
  /(?:^|[#&])(?:link|token)=([^&]+)/.exec(hash)?.[1];

export function SignInPage() {
  const { hash } = useLocation();
  const search = useSearch({ strict: false }) as Search;
  const me = useMe();
  const token = parseLinkToken(hash) ?? search.token;
  const go = () => window.location.assign(toSafePath(search.next));
  if (me.data?.needs_password) return <SetPassword me={me.data} done={go} />;
  if (token) return <FirstLogin token={token} done={go} />;
  return <SignInForm done={go} search={search} />;
}

function SignInFrame({ title, children }: { title: string; children: ReactNode }) {
  const { t } = useTranslation();
  useEffect(() => {
    document.title = `${title} · Culprit`;
  }, [title]);
  return (
    <main className={classes.frame}>
      <div className={classes.box}>
        <p className={classes.brand}>
          <Activity size={20} aria-hidden /> Culprit
        </p>
        <p className={classes.product}>{t("login.product")}</p>
        <h1 className={classes.title}>{title}</h1>
        {children}
      </div>
    </main>
  );
}

interface SignInFormProps {
  done: () => void;
  search: Search;
}

function SignInForm({ done, search }: SignInFormProps) {
  const { t } = useTranslation();
  const form = useForm({ initialValues: { name: "", password: "" } });
  const login = useMutation({
    mutationFn: (values: { name: string; password: string }) => post("/session", values),
    onSuccess: (me) => {
      rememberCsrf(me.csrf ?? "");
      done();
    },
  });
  const wrong = login.error instanceof ApiError && login.error.status === 401;
  return (
    <SignInFrame title={t("login.title")}>
      <SingleSignOnButton search={search} />
      <form onSubmit={form.onSubmit((values) => login.mutate(values))} className={classes.form}>
        <TextInput
          label={t("login.name")}
          autoComplete="username"
          autoFocus
          required
          {...form.getInputProps("name")}
        />
        <SecretField
          label={t("login.password")}
          autoComplete="current-password"
          required
          {...form.getInputProps("password")}
        />
        {login.error && <ErrorLine error={wrong ? new Error(t("login.wrong")) : login.error} />}
        <Button type="submit" size="sm" loading={login.isPending}>
          {t("login.submit")}
        </Button>
      </form>
    </SignInFrame>
  );
}

/** Button for single sign-on if a provider is configured, and the reason why the last attempt failed. */
function SingleSignOnButton({ search }: { search: Search }) {
  const { t } = useTranslation();
  const formatMessage = useMessage();
  const methods = useQuery({
    queryKey: ["session", "ways"],
    queryFn: () => get("/session/methods"),
    retry: false,
  });
  const leave = useMutation({
    mutationFn: () => post("/session/oidc", { next: toSafePath(search.next) }),
    onSuccess: ({ url }) => window.location.assign(url),
  });
  const why = REFUSALS.find((refusal) => refusal === search.refused);
  return (
    <>
      {why && !leave.isPending && (
        <div className={classes.refused}>
          <ErrorLine error={new Error(formatMessage({ key: `sign_in.${why}`, params: {} }))} />
        </div>
      )}
      {methods.data?.provider && (
        <div className={classes.provider}>
          <Button size="sm" fullWidth loading={leave.isPending} onClick={() => leave.mutate()}>
            {t("login.with", { name: methods.data.provider })}
          </Button>
          <ErrorLine error={leave.error} />
          <p className={classes.separator}>{t("login.or")}</p>
        </div>
      )}
    </>
  );
}

function FirstLogin({ token, done }: { token: string; done: () => void }) {
  const { t } = useTranslation();
  const cache = useQueryClient();
  const started = useRef(false);
  const open = useMutation({
    mutationFn: () => post("/session/link", { token }),
    onSuccess: (answer) => {
      rememberCsrf(answer.csrf ?? "");
      cache.setQueryData(queryKeys.me, answer);
      history.replaceState(history.state, "", "/login");
      if (!answer.needs_password) done();
    },
  });
  const { mutate } = open;
  useEffect(() => {
    if (started.current) return;
    started.current = true;
    mutate();
  }, [mutate]);
  return (
    <SignInFrame title={t("login.linkTitle")}>
      {open.error ? (
        <>
          <ErrorLine
            error={
              open.error instanceof ApiError && open.error.status < 500
                ? new Error(t("login.linkBad"))
                : open.error
            }
          />
          <Button component="a" href="/login" variant="default" mt="md">
            {t("login.title")}
          </Button>
        </>
      ) : (
        <p role="status">{t("login.linkWorking")}</p>
      )}
    </SignInFrame>
  );
}

function SetPassword({ me, done }: { me: Me; done: () => void }) {
  const { t } = useTranslation();
  const form = useForm({
    initialValues: { password: "", again: "" },
    validate: {
      password: (value) => (value.length < 10 ? t("login.tooShort") : null),
      again: (value, values) => (value !== values.password ? t("login.differs") : null),
    },
  });
  const save = useMutation({
    mutationFn: (password: string) => patch("/me", { password }),
    onSuccess: done,
  });
  return (
    <SignInFrame title={t("login.setTitle")}>
      <p className={classes.note}>{t("login.setText", { name: me.name })}</p>
      <form onSubmit={form.onSubmit((values) => save.mutate(values.password))} className={classes.form}>
        <input type="text" name="username" autoComplete="username" value={me.name} readOnly hidden />
        <SecretField
          label={t("login.newPassword")}
          description={t("login.rule")}
          autoComplete="new-password"
          autoFocus
          {...form.getInputProps("password")}
        />
        <SecretField label={t("login.repeat")} autoComplete="new-password" {...form.getInputProps("again")} />
        <ErrorLine error={save.error} />
        <Button type="submit" size="sm" loading={save.isPending}>
          {t("login.set")}
        </Button>
      </form>
    </SignInFrame>
  );
}
