import { useQuery } from "@tanstack/react-query";
import type { Credential, List } from "../../client/types";
import { get } from "../../lib/api";
import { items } from "../../lib/queries";

/** The stored credentials; only those who may manage them can list them. */
export const useCredentials = () =>
  useQuery({
    queryKey: ["credentials"],
    queryFn: () => get<List<Credential> | Credential[]>("/credentials", { limit: 200 }).then(items),
  });
