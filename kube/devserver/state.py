"""The server's whole state, and the one way to change it: a commit also tells whoever keeps a digest of the objects."""

from __future__ import annotations

from collections.abc import Iterator

from kube.devserver import crds
from kube.devserver.admission import CONFIGURATIONS, Admission
from kube.devserver.rbac import COLLECTIONS, Authorizer
from kube.devserver.served import Catalogue, Object, Served
from kube.devserver.store import Key, Record, Store


class State:
    """Store, catalogue of served resources, rights and webhooks."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.catalogue = Catalogue()
        self.authorizer = Authorizer(store)
        self.admission = Admission(store)
        for record in store.collection(crds.COLLECTION).records.values():
            self._serve(record.object)

    def get(self, served: Served, key: Key) -> Record | None:
        return self.store.get(served.collection, key)

    def put(self, served: Served, key: Key, content: Object) -> Record:
        record = self.store.put(served.collection, key, content)
        self._changed(served.collection, content, deleted=False)
        return record

    def delete(self, served: Served, key: Key, content: Object) -> Record:
        record = self.store.delete(served.collection, key, content)
        self._changed(served.collection, content, deleted=True)
        return record

    def instances(self, crd: Object) -> Iterator[tuple[Served, Record]]:
        """Give every object of the kind a CRD defines, whatever its version."""
        served = next(crds.served_by(crd), None)
        if served is not None:
            for record in self.store.collection(served.collection).records.values():
                yield served, record

    def _changed(self, collection: str, content: Object, *, deleted: bool) -> None:
        if collection in COLLECTIONS:
            self.authorizer.changed()
        elif collection == CONFIGURATIONS:
            self.admission.changed()
            self.admission.warm_up()
        elif collection == crds.COLLECTION:
            self.catalogue.remove(content["spec"]["group"], content["spec"]["names"]["plural"])
            if not deleted:
                self._serve(content)

    def _serve(self, crd: Object) -> None:
        for entry in crds.served_by(crd):
            self.catalogue.add(entry)
