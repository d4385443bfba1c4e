import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { CaptureScope } from "../../client/models";
import { post } from "../api";

export interface PreviewBody {
  host_ids: readonly string[];
  plan: string;
  seconds?: number;
  collectors?: readonly string[];
  scope?: CaptureScope;
  options?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  service?: boolean;
}

/** What a capture would run, and what it would cost, before anything is sent. */
export const usePreview = (body: PreviewBody, enabled: boolean) =>
  useQuery({
    queryKey: ["preview", body],
    queryFn: () => post("/captures/preview", body),
    enabled,
    placeholderData: keepPreviousData,
    retry: false,
  });
