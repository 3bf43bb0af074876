// SPDX-License-Identifier: Apache-2.0
// messages.hpp - all messages, and the one list of all methods of a plugin and of the host. Thread rule:
// values.
#pragma once

#include <slipway/messages/account.hpp>
#include <slipway/messages/addresses.hpp>
#include <slipway/messages/config.hpp>
#include <slipway/messages/firewall.hpp>
#include <slipway/messages/host.hpp>
#include <slipway/messages/images.hpp>
#include <slipway/messages/instances.hpp>
#include <slipway/messages/interfaces.hpp>
#include <slipway/messages/manifest.hpp>
#include <slipway/messages/objects.hpp>
#include <slipway/messages/subnets.hpp>
#include <slipway/messages/types.hpp>
#include <slipway/messages/volumes.hpp>
#include <slipway/messages/zones.hpp>

#include <boost/mp11/list.hpp>

namespace slipway {

// What a host calls a plugin with. A type's `method` is its name, its `Reply` what comes back.
using PluginRequests = boost::mp11::mp_list<
    StartRequest, StopRequest, ListRequest, GetRequest, MaintainRequest, ExecRequest, LogRequest,        //
    InterfaceCreateRequest, InterfaceDeleteRequest, InterfaceListRequest,                                //
    AddressClaimRequest, AddressReleaseRequest, AddressListRequest,                                      //
    FirewallEnsureRequest, FirewallRemoveRequest, FirewallListRequest, FirewallOpenRequest,              //
    FirewallCloseRequest, FirewallRulesRequest,                                                          //
    VolumeCreateRequest, VolumeDestroyRequest, VolumeListRequest, AttachRequest, DetachRequest,          //
    AttachmentsRequest, VolumeValidateRequest,                                                           //
    SubnetsRequest, SubnetInterfacesRequest, AddressAllocateRequest, AddressFreeRequest,                 //
    SupportsAllocationRequest,                                                                           //
    ZonesRequest, DeriveZonesRequest, ImageRequest, ImagesRequest, ImageAddRequest, ImageRemoveRequest,  //
    TypesRequest, ObjectPutRequest, ObjectGetRequest, ObjectListRequest, ObjectRemoveRequest,            //
    ObjectUrlRequest, ProbeRequest, QuotaRequest, ConfigValidateRequest, ConfigImportRequest>;

// What a plugin calls its host with.
using HostRequests = boost::mp11::mp_list<HttpCallRequest, SecretGetRequest, KvGetRequest, KvPutRequest,
                                          KvDeleteRequest, KvListRequest, ClockNowRequest, ClockSleepRequest>;

using HostNotes = boost::mp11::mp_list<LogNote, ProgressNote, MetricNote>;

// What every provider has.
using RequiredOfProviders =
    boost::mp11::mp_list<ProbeRequest, StartRequest, StopRequest, ListRequest, GetRequest>;

template <class T>
concept Request = requires {
  {std::string_view(T::method)};
  typename T::Reply;
};

}  // namespace slipway
